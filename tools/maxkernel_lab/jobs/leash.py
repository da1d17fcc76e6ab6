"""Run a program that must not outlive the lab: ``python -m maxkernel_lab.jobs.leash PARENT_PID COMMAND...``.

Asks the kernel for a SIGKILL when the lab dies, however it dies, then becomes the program (prctl(2): the setting
survives ``execve``). It must be asked from inside the child, before anything else runs there.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> None:
    """Tie this process to its parent and become the command."""
    parent, *command = arguments
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit(0)  # the parent died before the request: there is nobody to work for
    os.execv(command[0], command)  # noqa: S606 - arguments as a list, given by the lab


if __name__ == "__main__":
    main(sys.argv[1:])
