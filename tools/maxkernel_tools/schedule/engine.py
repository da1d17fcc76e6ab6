"""The clock of one core and its DMA engine: who shares HBM bandwidth with whom, and what a wait stalls for.

A kernel's own transfers are served in the order they start. A copy the top level starts in the background (a prefetch
for a later op) shares the bandwidth evenly with them and has all of it while they rest.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Literal

Flag = tuple[int, int | None]
"""Scope of a schedule, and the number of a sync flag in it (None when unknown)."""

Direction = Literal["read", "write", "copy", "local"]


@dataclass(slots=True)
class _Background:
    """A background copy under way: cycles of full bandwidth it still needs."""

    flag: Flag
    granules: float
    left: float


class Clockwork:
    """Time in cycles, and what is under way.

    Args:
        bytes_per_cycle: HBM bandwidth long transfers achieve.
        latency_cycles: from the start of a transfer to its first byte, paid once per transfer, overlapping others.
        local_bytes_per_cycle: bandwidth inside the core (VMEM to VMEM).
        write_piece_cycles: least time per contiguous piece of a strided write to HBM.
    """

    def __init__(
        self,
        bytes_per_cycle: float,
        latency_cycles: float,
        local_bytes_per_cycle: float,
        write_piece_cycles: float = 0.0,
    ) -> None:
        self.now = 0.0
        self.busy_cycles = 0.0
        self._rate = bytes_per_cycle
        self._latency = latency_cycles
        self._write_piece = write_piece_cycles
        self._local_rate = local_bytes_per_cycle
        self._free = 0.0
        self._local_free = 0.0
        self._flags: dict[Flag, deque[tuple[float, float]]] = defaultdict(deque)
        self._background: deque[_Background] = deque()
        self._scopes = 0

    def start(
        self,
        flag: Flag,
        granules: float,
        moved: float,
        direction: Direction,
        pieces: float = 1.0,
        *,
        background: bool = False,
    ) -> None:
        """Start a transfer of ``moved`` bytes in ``pieces`` parts; at its end ``flag`` gains ``granules``."""
        if direction == "local":
            self._local_free = max(self.now, self._local_free) + moved / self._local_rate
            self._flags[flag].append((self._local_free + self._latency, granules))
            return
        length = moved * (2 if direction == "copy" else 1) / self._rate
        if direction == "write":
            length = max(length, pieces * self._write_piece)
        self.busy_cycles += length
        if background:
            self._rest_until(self.now)
            self._background.append(_Background(flag, granules, length))
            return
        begin = max(self.now, self._free)
        self._rest_until(begin)
        self._free = begin + length + self._advance(length, begin)
        self._flags[flag].append((self._free + self._latency, granules))

    def _advance(self, cycles: float, since: float) -> float:
        """Give background copies up to ``cycles`` of full bandwidth from ``since`` on; return what they took."""
        taken = 0.0
        while self._background and taken < cycles:
            first = self._background[0]
            part = min(first.left, cycles - taken)
            first.left -= part
            taken += part
            if first.left <= 1e-9:
                self._background.popleft()
                self._flags[first.flag].append((since + taken + self._latency, first.granules))
        return taken

    def _rest_until(self, moment: float) -> None:
        """Let background copies have the time until ``moment`` in which nothing else moves."""
        if moment > self._free:
            self._advance(moment - self._free, self._free)
            self._free = moment

    def wait(self, flag: Flag, granules: float | None) -> float:
        """Stall until ``flag`` has filled by ``granules``; return the cycles stalled."""
        missing = granules if granules is not None else 1.0
        self._finish_background(flag)
        queue = self._flags.get(flag)
        until = self.now
        while queue and missing > 0:
            end, amount = queue[0]
            until = max(until, end)
            if amount > missing:
                queue[0] = (end, amount - missing)
                missing = 0.0
            else:
                queue.popleft()
                missing -= amount
        return until - self.now

    def _finish_background(self, flag: Flag) -> None:
        """Run background copies up to and including those for ``flag``: somebody waits for them."""
        self._rest_until(self.now)
        while any(copy.flag == flag for copy in self._background):
            left = self._background[0].left
            self._advance(left, self._free)
            self._free += left

    def scope(self) -> int:
        """Return a number that keeps one schedule's sync flags apart from another's."""
        self._scopes += 1
        return self._scopes

    def forget(self, scope: int) -> None:
        """Drop the flags of a schedule that has ended."""
        for flag in [flag for flag in self._flags if flag[0] == scope]:
            del self._flags[flag]

    def skip(self, cycles: float, moved: float) -> None:
        """Move on by ``cycles`` in which ``moved`` bytes crossed HBM (a run that was extrapolated)."""
        self.now += cycles
        self.busy_cycles += min(cycles, moved / self._rate)
        self._rest_until(self.now)
