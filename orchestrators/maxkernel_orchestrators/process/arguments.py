"""The command line of ``python -m maxkernel_orchestrators``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Invocation:
    """How this process was started.

    Attributes:
        job_dir: the job's folder.
        mcp_fd: an inherited socket to the lab, or None.
        serve_command: the command that starts a lab, else.
        as_json: print the result alone, as JSON, on stdout.
    """

    job_dir: Path
    mcp_fd: int | None
    serve_command: tuple[str, ...]
    as_json: bool


def parse_arguments(words: Sequence[str]) -> Invocation:
    """Read the command line; exits with code 2 and a usage line where it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m maxkernel_orchestrators",
        description="Work on one optimisation job. `maxkernel optimize` starts this; so does start_optimization.",
    )
    parser.add_argument("--job-dir", type=Path, required=True, help="folder of the job, with config.json")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, alone, on stdout")
    lab = parser.add_mutually_exclusive_group(required=True)
    lab.add_argument("--mcp-fd", type=int, help="inherited socket on which the lab that started this serves MCP")
    lab.add_argument("--serve-command", nargs=argparse.REMAINDER, help="command that serves the lab on stdio; last")
    given = parser.parse_args(words)
    if given.serve_command is not None and not given.serve_command:
        parser.error("--serve-command needs a command after it")
    return Invocation(given.job_dir, given.mcp_fd, tuple(given.serve_command or ()), given.json)
