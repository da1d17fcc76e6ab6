"""Admission: how many sandboxed jobs run at once, over every lab of the user, by count and by memory.

Each running job holds an ``flock`` on one slot file, whose content says how much memory it reserved. The kernel drops
the lock when the process dies, however it dies, so no crash can leak a slot. Within one process waiters are served in
order; between processes they poll.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from maxkernel_tools.errors import DeadlineError, MachineryError

_POLL_S: Final = (0.01, 0.02, 0.05, 0.1, 0.2)
_LEDGER: Final = "ledger.lock"


class Admission:
    """The one admission lock of a user's machine.

    Args:
        folder: where the slot files lie; shared by all processes.
        workers: jobs at once.
        memory_bytes: memory all admitted jobs may reserve together; a job that alone asks for more runs alone.
        timeout_s: how long to wait for a place before giving up.
    """

    def __init__(self, folder: Path, *, workers: int, memory_bytes: int, timeout_s: float = 900.0) -> None:
        self._folder = folder
        self._workers = workers
        self._memory_bytes = memory_bytes
        self._timeout_s = timeout_s
        self._turn = anyio.Lock()

    @asynccontextmanager
    async def admit(self, memory_bytes: int = 0) -> AsyncGenerator[None]:
        """Hold a place, with ``memory_bytes`` reserved, for the length of the context.

        Raises:
            DeadlineError: no place became free in time.
            MachineryError: the slot folder cannot be used.
        """
        slot = await self._acquire(memory_bytes)
        try:
            yield
        finally:
            os.close(slot)

    async def _acquire(self, memory_bytes: int) -> int:
        try:
            with anyio.fail_after(self._timeout_s):
                async with self._turn:
                    attempt = 0
                    while True:
                        slot = self._try_once(memory_bytes)
                        if slot is not None:
                            return slot
                        await anyio.sleep(_POLL_S[min(attempt, len(_POLL_S) - 1)])
                        attempt += 1
        except TimeoutError:
            raise DeadlineError(
                f"No place for a job of {memory_bytes >> 20} MiB within {self._timeout_s:.0f} s: "
                f"{self._workers} jobs at once are allowed on this machine (pool.workers)."
            ) from None

    def _try_once(self, memory_bytes: int) -> int | None:
        """Take a free slot if count and memory allow; never blocks longer than the ledger's critical section."""
        ledger = self._open(_LEDGER)
        taken: int | None = None
        try:
            fcntl.flock(ledger, fcntl.LOCK_EX)
            reserved, others = 0, 0
            for index in range(self._workers):
                slot = self._open(f"slot-{index}.lock")
                if _lock_now(slot):
                    if taken is None:
                        taken = slot
                    else:
                        os.close(slot)
                    continue
                reserved += _reserved(slot)
                others += 1
                os.close(slot)
            if taken is not None and others and reserved + memory_bytes > self._memory_bytes:
                os.close(taken)
                taken = None
            if taken is not None:
                os.ftruncate(taken, 0)
                os.pwrite(taken, str(memory_bytes).encode(), 0)
        except OSError as error:
            if taken is not None:
                os.close(taken)
            raise MachineryError(f"Cannot use the admission folder {self._folder}: {error}.") from error
        finally:
            os.close(ledger)
        return taken

    def _open(self, name: str) -> int:
        try:
            return os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise MachineryError(f"Cannot use the admission folder {self._folder}: {error}.") from error


def _lock_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _reserved(descriptor: int) -> int:
    text = os.pread(descriptor, 32, 0).decode("ascii", errors="ignore").strip()
    return int(text) if text.isdigit() else 0
