"""Namespaces for the processes a nursery forks: no network once and for all, a PID namespace per job.

When the first process of a PID namespace ends, the kernel kills all others in it: nothing a job starts outlives it.
Both need privileges; without them the system call filter and a subreaper's sweep do the work.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from maxkernel_tools.worker.walls import kernel


@dataclass(frozen=True)
class Namespaces:
    """What this process may give its children.

    Attributes:
        network: this process and its children have no network.
        pid_home: descriptor of this process's own PID namespace, or None where children cannot have their own.
    """

    network: bool
    pid_home: int | None

    def fork(self) -> int:
        """Fork, into a new PID namespace where possible; the child is then its first process."""
        if self.pid_home is None:
            return os.fork()
        kernel.unshare(kernel.CLONE_NEWPID)
        child = -1
        try:
            child = os.fork()
        finally:
            if child != 0:  # later forks of the parent must not land in this job's namespace
                kernel.setns(self.pid_home, kernel.CLONE_NEWPID)
        return child


def leave() -> Namespaces:
    """Leave the host's network and learn whether PID namespaces can be had; needs one thread."""
    network = _try(kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC)
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    if _pid_namespace_works(home):
        return Namespaces(network=network, pid_home=home)
    os.close(home)
    return Namespaces(network=network, pid_home=None)


def _try(flags: int) -> bool:
    try:
        kernel.unshare(flags)
    except OSError:
        return False
    return True


def _pid_namespace_works(home: int) -> bool:
    try:
        kernel.unshare(kernel.CLONE_NEWPID)
        kernel.setns(home, kernel.CLONE_NEWPID)
    except OSError:
        return False
    return True
