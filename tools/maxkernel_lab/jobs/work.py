"""One tool call while it runs: it can be waited for, cancelled with its processes, or left to go on as a job."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from maxkernel_tools.context import Progress
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.records.results import ToolResult

HEARTBEAT_S: Final = 5.0
"""Silence after which the caller is told that work goes on; clients give up on silence."""


async def no_progress(done: float, total: float | None, message: str) -> None:
    """Report to nobody."""


class Work:
    """A call in progress.

    Args:
        run: ``await run(progress)`` does it and always returns a result, whatever goes wrong.
        label: what to call it in a progress message.
    """

    def __init__(self, run: Callable[[Progress], Awaitable[ToolResult]], label: str) -> None:
        self.label = label
        self.listener: Progress = no_progress
        self._run = run
        self._scope = anyio.CancelScope()
        self._finished = anyio.Event()
        self._result: ToolResult | None = None
        self._last: tuple[float, float | None, str] = (0.0, None, "")
        self._last_at = 0.0
        self._started = anyio.current_time()

    async def run(self) -> None:
        """Do it; to be started in the lab's task group."""
        try:
            with self._scope:
                self._result = await self._run(self._progress)
        finally:
            self._finished.set()

    async def _progress(self, done: float, total: float | None, message: str) -> None:
        self._last = (done, total, message)
        self._last_at = anyio.current_time()
        await self.listener(done, total, message)

    async def wait(self, seconds: float | None) -> bool:
        """Wait until it is finished, at most ``seconds``; report a heartbeat through the listener when all is quiet."""
        deadline = None if seconds is None else anyio.current_time() + seconds
        while not self._finished.is_set():
            left = HEARTBEAT_S if deadline is None else min(HEARTBEAT_S, deadline - anyio.current_time())
            if left <= 0:
                return False
            with anyio.move_on_after(left):
                await self._finished.wait()
            if not self._finished.is_set() and anyio.current_time() - self._last_at >= HEARTBEAT_S:
                done, total, message = self._last
                elapsed = anyio.current_time() - self._started
                await self.listener(done, total, f"{message or self.label} ({elapsed:.0f} s)")
        return True

    async def stop(self, grace_s: float = 10.0) -> None:
        """Cancel it and wait, at most ``grace_s``, until its processes are gone."""
        self._scope.cancel()
        with anyio.move_on_after(grace_s, shield=True):
            await self._finished.wait()

    @property
    def finished(self) -> bool:
        """Whether it has ended, with a result or by being stopped."""
        return self._finished.is_set()

    @property
    def result(self) -> ToolResult | None:
        """Its result, or None where it was stopped first."""
        return self._result

    def outcome(self) -> ToolResult:
        """Return the result.

        Raises:
            MachineryError: it was stopped before it had one.
        """
        if self._result is None:
            raise MachineryError(f"{self.label} was stopped before it was done.")
        return self._result
