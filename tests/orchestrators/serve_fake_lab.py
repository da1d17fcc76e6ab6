"""The lab in memory as a process that serves MCP on stdin and stdout, for orchestrators that are processes too."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from tests.orchestrators.fake_lab import FakeLab


async def main() -> None:
    server = FakeLab().server()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
