"""Real processes for tests: an environment that finds this checkout, and what is left of a process's family."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def python_environment(home: Path | None = None, **more: str) -> dict[str, str]:
    """Return this environment with the checkout's source roots, and a lab home."""
    roots = os.pathsep.join(str(REPO / part) for part in ("", "tools", "orchestrators"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAXKERNEL_")}
    environment["PYTHONPATH"] = roots
    if home is not None:
        environment["MAXKERNEL_HOME"] = str(home)
    return environment | more


def processes_mentioning(text: str) -> list[int]:
    """Return living processes (not zombies) whose command line or environment holds ``text``, but for this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            data = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if state != "Z" and text.encode() in data:
            found.append(int(entry.name))
    return found


def wait_until_gone(text: str, seconds: float = 30.0) -> list[int]:
    """Wait until no process mentions ``text``; return those that stayed."""
    deadline = time.monotonic() + seconds
    while (left := processes_mentioning(text)) and time.monotonic() < deadline:
        wait_for_end(left[0], deadline - time.monotonic())
    return left


def wait_for_end(pid: int, seconds: float) -> bool:
    """Wait for the end of a process that need not be a child of ours."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], max(0.0, seconds))[0])
    finally:
        os.close(descriptor)
