"""``maxkernel serve``: the MCP server on stdin and stdout, or over HTTP."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

import jaxbench
from maxkernel_lab.settings import load_settings
from maxkernel_mcp.cli import OK
from maxkernel_mcp.logs import configure_logging
from maxkernel_mcp.serving import serve_stdio
from maxkernel_mcp.tracing import configure_tracing
from maxkernel_tools.errors import MisuseError

if TYPE_CHECKING:
    from maxkernel_mcp.http import Access


def serve(options: argparse.Namespace) -> int:
    """Serve until the client goes or a signal comes."""
    flags = {"home": options.home, "server_log_level": options.log_level}
    settings = load_settings(flags=flags, extra_roots=[Path(root).absolute() for root in options.roots])
    configure_logging(settings.server_log_level, Path(options.log_file) if options.log_file else None)
    configure_tracing()
    if options.http:
        from maxkernel_mcp.http import serve_http  # noqa: PLC0415 - only where it is asked for

        access = _access(options)
        anyio.run(partial(serve_http, settings, jaxbench.task_roots(), access, _announce))
        return OK
    given = [name for name in ("host", "port", "token_file", "allow_host") if getattr(options, name)]
    if given:
        raise MisuseError(
            f"--{given[0].replace('_', '-')} was given without --http.",
            allowed="it goes with --http; on stdin and stdout there is neither host nor token.",
            action="Add --http, or leave it out.",
        )
    anyio.run(serve_stdio, settings, jaxbench.task_roots())
    return OK


def _access(options: argparse.Namespace) -> Access:
    from maxkernel_mcp.http import Access, read_token  # noqa: PLC0415 - only where it is asked for

    port = options.port or 0
    if not 0 <= port <= 65535:
        raise MisuseError(f"--port {port}.", allowed="0 (any free one) to 65535.", action="Choose another.")
    return Access(
        host=options.host or "127.0.0.1",
        port=port,
        token=read_token(Path(options.token_file)) if options.token_file else "",
        allowed_hosts=tuple(options.allow_host),
    ).checked()


def _announce(url: str) -> None:
    print(f"MaxKernel serves MCP at {url} (Ctrl-C ends it).", flush=True)
