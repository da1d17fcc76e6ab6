"""Watches one compile and ends it at a limit: processor time first, then the clock, a standstill, memory.

Processor time is what a compile costs on any machine. The clock only catches what waits for ever, and allows for a
machine that is busy with other things.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import anyio

from maxkernel_lab.supervision.processes import Supervised, processor_s, resident_bytes
from maxkernel_tools.runtime import ChildReport, Ending, Exceeded

_LOOK_S: Final = 0.1


@dataclass(frozen=True)
class Allowance:
    """What one compile may use.

    Attributes:
        cpu_s: processor time.
        wall_s: time by the clock.
        standstill_s: time by the clock without any processor time used.
        memory_bytes: resident.
    """

    cpu_s: float
    wall_s: float
    standstill_s: float
    memory_bytes: int


class CompileWatch:
    """One compile under watch: :meth:`run` beside it, :meth:`report` when it is over."""

    def __init__(self, process: Supervised, allowance: Allowance) -> None:
        self._process = process
        self._allowance = allowance
        self._mark = process.mark()
        self._started = time.monotonic()
        self._cpu_before = processor_s(process.pid) or 0.0
        self._cpu_s = 0.0
        self._moved = self._started
        self._peak = 0
        self._ending: Ending = "crashed"
        self._exceeded: Exceeded = ""

    async def run(self) -> None:
        """Look until cancelled; kill the process at the first limit it passes."""
        pause = min(_LOOK_S, self._allowance.cpu_s, self._allowance.standstill_s)
        while True:
            if self._over():
                self._process.kill()
                return
            await anyio.sleep(pause)

    def log(self) -> str:
        """Return what the process has written to fd 2 since the compile began."""
        return self._process.stderr_since(self._mark)

    def report(self, code: int | None) -> ChildReport:
        """Describe the compile; ``code`` is the exit code of a process that ended, None for one that answered."""
        self._read_clock()
        allowed = {"processor-time": self._allowance.cpu_s, "clock-time": self._allowance.wall_s}
        return ChildReport(
            ending="completed" if code is None else self._ending,
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            wall_ms=round((time.monotonic() - self._started) * 1000),
            cpu_ms=round(self._cpu_s * 1000),
            exceeded="" if code is None else self._exceeded,
            allowed_s=allowed.get(self._exceeded, self._allowance.standstill_s),
            peak_rss_bytes=self._peak,
            stderr_tail=self.log()[-4000:],
        )

    def _read_clock(self) -> None:
        now = processor_s(self._process.pid)
        if now is not None and now - self._cpu_before > self._cpu_s:
            self._cpu_s = now - self._cpu_before
            self._moved = time.monotonic()

    def _over(self) -> bool:
        self._read_clock()
        now = time.monotonic()
        resident = resident_bytes(self._process.pid)
        self._peak = max(self._peak, resident)
        if resident > self._allowance.memory_bytes:
            self._ending = "out-of-memory"
            return True
        if self._cpu_s > self._allowance.cpu_s:
            self._exceeded = "processor-time"
        elif now - self._moved > self._allowance.standstill_s:
            self._exceeded = "no-progress"
        elif now - self._started > self._allowance.wall_s:
            self._exceeded = "clock-time"
        if self._exceeded:
            self._ending = "timed-out"
        return bool(self._exceeded)
