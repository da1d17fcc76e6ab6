"""``maxkernel connect``: a lab elsewhere, as if it were here."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import anyio

from maxkernel_mcp.cli import OK
from maxkernel_mcp.connecting import connect as bridge
from maxkernel_mcp.connecting import parse_place
from maxkernel_mcp.http.access import read_token
from maxkernel_mcp.logs import configure_logging


def connect(options: argparse.Namespace) -> int:
    """Bridge stdin and stdout to the lab until either side ends."""
    configure_logging("warning")
    token = read_token(Path(options.token_file)) if options.token_file else ""
    place = parse_place(options.place, token=token, command=options.remote_command)
    anyio.run(bridge, place, _tell)
    return OK


def _tell(words: str) -> None:
    print(f"maxkernel: {words}", file=sys.stderr, flush=True)
