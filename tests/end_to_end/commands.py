"""Run the ``maxkernel`` command as a user does: a real process, its own home, bounded time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = os.pathsep.join(str(ROOT / part) for part in ("", "tools", "orchestrators"))


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        """The structured result, which must be alone on stdout."""
        answer = json.loads(self.stdout)
        assert isinstance(answer, dict)
        return answer

    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.stdout[-4000:]}\n--- stderr\n{self.stderr[-4000:]}"


def environment(home: Path) -> dict[str, str]:
    """The variables a command gets: this checkout's packages, a home of its own."""
    return {**os.environ, "PYTHONPATH": SOURCE_ROOTS, "MAXKERNEL_HOME": str(home)}


def maxkernel(*arguments: str, home: Path, cwd: Path, timeout_s: float = 600) -> Finished:
    """Run ``maxkernel ARGUMENTS`` and wait for it."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "maxkernel_mcp", *arguments],
        cwd=cwd,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Finished(done.returncode, done.stdout, done.stderr)
