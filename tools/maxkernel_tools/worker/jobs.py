"""One running child as the nursery sees it: its order, its pipes, its clock, its memory, its end."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass, field
from typing import Any, Final

_TAIL_BYTES: Final = 8192
_READ_BYTES: Final = 1 << 16
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_MAX_PROCESSES: Final = 64
_MAX_FILES: Final = 2000
_MAX_FOLDER_BYTES: Final = 512 << 20


@dataclass(frozen=True)
class JobOrder:
    """What the lab orders.

    Attributes:
        job: id.
        directory: the job's own folder.
        deadline_s: wall time from the fork on.
        memory_bytes: resident memory over the job's processes, shared maps included; also the data limit.
        cpu_s: processor time.
        output_bytes: what it may print before it counts as a flood.
        roots: folders of the user's project it may import from.
    """

    job: str
    directory: str
    deadline_s: float
    memory_bytes: int
    cpu_s: int
    output_bytes: int
    roots: list[str] = field(default_factory=list[str])


class Pipe:
    """The reading end of a child's fd 1 or 2: keeps the tail, counts the whole."""

    def __init__(self, descriptor: int, limit_bytes: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.closed = False
        self._limit = limit_bytes
        self._total = 0
        self._tail = bytearray()

    @property
    def flooded(self) -> bool:
        """Whether more came than is allowed."""
        return self._total > self._limit

    @property
    def tail(self) -> str:
        """The end of what came."""
        return self._tail.decode("utf-8", "replace")

    def drain(self) -> bool:
        """Read what is there; False at the end of the stream."""
        for _ in range(16):  # bounded, so that a flood cannot keep the nursery from its clock
            try:
                data = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._total += len(data)
            self._tail += data
            del self._tail[:-_TAIL_BYTES]
        return True

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)
        self.closed = True


class Job:
    """A forked child until it is reaped."""

    def __init__(self, order: JobOrder, pid: int, stdout: int, stderr: int, now: float) -> None:
        self.order = order
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self.pipes = (Pipe(stdout, order.output_bytes), Pipe(stderr, order.output_bytes))
        self._started = now
        self._ending: str | None = None
        self._peak = 0
        self._ticks = 0

    def watch(self, now: float) -> None:
        """End the job where it exceeds its time, memory or number of processes."""
        if self._ending is not None:
            return
        if now - self._started > self.order.deadline_s:
            self.kill("timed-out")
            return
        self._ticks += 1
        pids = [self.pid]
        if self._ticks % 5 == 0:
            pids = family(self.pid)
            if len(pids) > _MAX_PROCESSES:
                self.kill("crashed")
                return
            if not fits(self.order.directory):
                self.kill("output-flood")
                return
        resident = sum(resident_bytes(pid) for pid in pids)
        self._peak = max(self._peak, resident)
        if resident > self.order.memory_bytes:
            self.kill("out-of-memory")

    def kill(self, ending: str) -> None:
        """Kill the job's process group and remember why; the first reason stands."""
        if self._ending is None:
            self._ending = ending
        for pid in reversed(family(self.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def reap(self, now: float) -> dict[str, Any]:
        """Collect the ended child, kill what is left of its group, and report how it ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # the leader is a zombie still, so the group id is not reused yet
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self.pidfd)
        crashed = os.WIFSIGNALED(status)
        ending = "crashed" if crashed else "exited"
        if crashed and os.WTERMSIG(status) == signal.SIGXCPU:
            ending = "timed-out"
        return {
            "ending": self._ending or ending,
            "exit_code": None if crashed else os.WEXITSTATUS(status),
            "signal": os.WTERMSIG(status) if crashed else None,
            "wall_ms": round((now - self._started) * 1000),
            "peak_rss_bytes": max(self._peak, usage.ru_maxrss * 1024),
        }

    def tails(self) -> dict[str, str]:
        """What it printed last."""
        stdout, stderr = self.pipes
        return {"stdout_tail": stdout.tail, "stderr_tail": stderr.tail}


def resident_bytes(pid: int) -> int:
    """Resident memory of ``pid``, shared maps included; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - read fifty times a second
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def fits(folder: str) -> bool:
    """Whether a job's folder is of decent size: a job may not fill the disk."""
    files = size = 0
    for parent, _, names in os.walk(folder):
        files += 1 + len(names)
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - read ten times a second
        if files > _MAX_FILES or size > _MAX_FOLDER_BYTES:
            return False
    return True


def family(pid: int) -> list[int]:
    """``pid`` and its descendants, parents first."""
    found = [pid]
    for member in found:
        try:
            threads = os.listdir(f"/proc/{member}/task")  # noqa: PTH208 - read ten times a second
        except OSError:
            continue
        for thread in threads:
            with contextlib.suppress(OSError), open(f"/proc/{member}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                found += [int(text) for text in file.read().split()]
        if len(found) > 4096:
            break
    return found
