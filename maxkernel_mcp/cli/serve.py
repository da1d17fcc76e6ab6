"""``maxkernel serve``: the MCP server on stdin and stdout."""

from __future__ import annotations

import argparse
from pathlib import Path

import anyio

import jaxbench
from maxkernel_lab.settings import load_settings
from maxkernel_mcp.cli import OK
from maxkernel_mcp.logs import configure_logging
from maxkernel_mcp.serving import serve_stdio


def serve(options: argparse.Namespace) -> int:
    """Serve until the client goes or a signal comes."""
    flags = {"home": options.home, "server_log_level": options.log_level}
    settings = load_settings(flags=flags, extra_roots=[Path(root).absolute() for root in options.roots])
    configure_logging(settings.server_log_level)
    anyio.run(serve_stdio, settings, jaxbench.task_roots())
    return OK
