"""One face of the lab: the MCP server and the ``maxkernel`` command.

Holds no kernel knowledge and starts no process.
"""

__version__ = "0.1.0"
