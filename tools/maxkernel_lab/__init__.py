"""Runs the tools: settings, run store, process supervision, runtimes, jobs. Knows no MCP and no LLM, imports no jax."""
