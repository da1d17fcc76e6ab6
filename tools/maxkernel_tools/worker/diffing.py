"""Compare two captures in a process of its own: a capture is a stranger's file of any size.

Writes into ``--out``: ``result.json``, ``rows.csv``, ``rows.json``, ``view.html``; ``progress`` while it works; or
``refused.json`` where the captures cannot be compared. It imports no jax and loads no candidate.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Final

from maxkernel_tools.diffing.comparing import compare_files
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.worker.walls import kernel

OUT_OF_MEMORY: Final = 12


class _Reporter:
    """Keeps the newest word on progress in a file, replaced whole, so that a reader never sees half of it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "progress"
        self._temporary = folder / "progress.new"

    def __call__(self, done: float, message: str) -> None:
        """Say that ``done`` of 1 is done."""
        self._temporary.write_text(json.dumps([round(done, 4), message]))
        self._temporary.replace(self._file)


def main(arguments: list[str]) -> None:
    """Compare as a child of ``--parent``; dies with it."""
    parser = argparse.ArgumentParser(prog="diffing")
    parser.add_argument("--request", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--memory-bytes", type=int, required=True)
    options = parser.parse_args(arguments)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != options.parent:
        sys.exit("the lab is gone")
    # Data, not address space: a mapped capture costs address space only. Set after the imports, which fail in their own
    # ways where memory is short.
    resource.setrlimit(resource.RLIMIT_DATA, (options.memory_bytes, options.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        compare_files(json.loads(options.request), options.out, _Reporter(options.out))
    except MisuseError as error:
        refusal = {"given": error.given, "allowed": error.allowed, "action": error.action}
        (options.out / "refused.json").write_text(json.dumps(refusal))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
