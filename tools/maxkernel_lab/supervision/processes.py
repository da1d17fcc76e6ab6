"""One long-lived process of the lab: its own session, a bounded tail of fd 2, an end that takes the group along."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from maxkernel_tools.errors import MachineryError

_TAIL_BYTES: Final = 64 << 10
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Supervised:
    """A running process. Read its end with :meth:`wait`; :meth:`drain` must run beside it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._tail = bytearray()
        self._dropped = 0
        self._ended = anyio.Event()

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int], folder: Path
    ) -> Supervised:
        """Start ``command`` in its own session with nothing of the caller's but ``descriptors``.

        Raises:
            MachineryError: there is no such program, or no room for another process.
        """
        try:
            process = await anyio.open_process(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=dict(environment),
                cwd=folder,
                pass_fds=list(descriptors),
                start_new_session=True,
            )
        except OSError as error:
            raise MachineryError(f"{command[0]} does not start: {error}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        """Process id, which is also its group's and session's."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal, None while it runs."""
        return self._process.returncode

    def mark(self) -> int:
        """Return a place in what it wrote to fd 2, for :meth:`stderr_since`."""
        return self._dropped + len(self._tail)

    def stderr_since(self, mark: int = 0) -> str:
        """Return what it wrote to fd 2 since ``mark``, as far as it is still kept."""
        return bytes(self._tail[max(0, mark - self._dropped) :]).decode("utf-8", "replace")

    async def drain(self) -> None:
        """Keep the end of fd 2 until the process has ended; run it in a task of its own."""
        stream = self._process.stderr
        if stream is not None:
            with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                while True:
                    self._tail += await stream.receive()
                    excess = len(self._tail) - _TAIL_BYTES
                    if excess > 0:
                        del self._tail[:excess]
                        self._dropped += excess
        await self._process.wait()
        self.kill()  # whatever it left in its group
        self._ended.set()

    async def wait(self) -> int:
        """Wait until it has ended and fd 2 is read to its end; return the exit code."""
        await self._ended.wait()
        return -signal.SIGKILL if self._process.returncode is None else self._process.returncode

    async def gone(self, seconds: float) -> None:
        """Wait for the end of a killed process, also in a task that is being cancelled; at most so long."""
        with anyio.move_on_after(seconds, shield=True):
            await self._process.wait()

    def kill(self) -> None:
        """Kill the process and its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Resident memory of ``pid``, shared maps included; 0 once it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def processor_s(pid: int) -> float | None:
    """Processor time all threads of ``pid`` have used so far, user and system, in seconds; None once it is gone."""
    try:
        # proc(5): the command name, in parentheses, may hold anything; utime and stime are fields 14 and 15.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
    except (OSError, IndexError, ValueError):
        return None
