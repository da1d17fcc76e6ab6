"""Runs a coding agent that must leave nothing behind: ``python -I leash.py PARENT_PID COMMAND...``.

Uses the standard library alone: it is started by path, so that it is there in milliseconds. Everything the agent starts
becomes a descendant of this process, orphans included (prctl(2), PR_SET_CHILD_SUBREAPER). When the agent ends, when it
is asked to (SIGTERM) or when the parent dies, however it dies (PR_SET_PDEATHSIG), all descendants are killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_NOT_STARTED = 127
_SWEEPS = 200


def main(arguments: list[str]) -> int:
    """Run the command under the leash; return its exit code, as a shell would."""
    parent, *command = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, _stop)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        return 0  # the parent died before the request: there is nobody to answer
    child = os.fork()
    if not child:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        try:
            os.execvp(command[0], command)  # noqa: S606 - arguments as a list
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\n".encode())
            os._exit(_NOT_STARTED)
    while True:
        ended, status = os.wait()
        if ended == child:
            break
    _sweep()
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _stop(number: int, frame: object) -> None:  # noqa: ARG001 - a signal handler's form
    _sweep()
    os._exit(128 + signal.SIGTERM)


def _sweep() -> None:
    """Kill every descendant; those of a killed one become our children, so it takes a few rounds."""
    for _ in range(_SWEEPS):
        children = _children(os.getpid())
        if not children:
            return
        for process in children:
            for descendant in (*_descendants(process), process):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(descendant, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def _children(process: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        for task in Path(f"/proc/{process}/task").iterdir():
            found += [int(text) for text in (task / "children").read_text().split()]
    return found


def _descendants(process: int) -> list[int]:
    known = _children(process)
    for child in known:
        known += _children(child)
        if len(known) > 4096:
            break
    return known


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
