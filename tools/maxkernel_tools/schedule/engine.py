"""The clock of one core and its DMA engine: transfers share HBM in order, waits stall until their flag fills."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Literal

Flag = tuple[int, int | None]
"""Scope of a schedule, and the number of a sync flag in it (None when unknown)."""

Direction = Literal["read", "write", "copy", "local"]


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
        self._rate = bytes_per_cycle
        self._latency = latency_cycles
        self._write_piece = write_piece_cycles
        self._local_rate = local_bytes_per_cycle
        self._free = 0.0
        self._local_free = 0.0
        self._flags: dict[Flag, deque[tuple[float, float]]] = defaultdict(deque)
        self._scopes = 0
        self.busy_cycles = 0.0

    def start(self, flag: Flag, granules: float, moved: float, direction: Direction, pieces: float = 1.0) -> float:
        """Start a transfer of ``moved`` bytes in ``pieces`` that adds ``granules`` to ``flag``; return when it ends."""
        if direction == "local":
            begin = max(self.now, self._local_free)
            self._local_free = begin + moved / self._local_rate
            end = self._local_free + self._latency
        else:
            crossing = moved * (2 if direction == "copy" else 1)
            begin = max(self.now, self._free)
            length = crossing / self._rate
            if direction == "write":
                length = max(length, pieces * self._write_piece)
            self._free = begin + length
            self.busy_cycles += length
            end = self._free + self._latency
        self._flags[flag].append((end, granules))
        return end

    def wait(self, flag: Flag, granules: float | None) -> float:
        """Stall until ``flag`` has filled by ``granules``; return the cycles stalled."""
        queue = self._flags.get(flag)
        missing = granules if granules is not None else 1.0
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
        self._free = max(self._free, self.now)
