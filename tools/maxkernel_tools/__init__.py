"""What a kernel tool means: records, errors, compiling, checking, profiling, diffing.

Knows no MCP, no LLM and no environment variables; prints nothing.
"""
