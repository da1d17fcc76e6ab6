"""A queue of open nodes by time: the fastest that still has untried moves, in logarithmic time."""

from __future__ import annotations

import heapq

from maxkernel_orchestrators.searching.frontier import Frontier
from maxkernel_orchestrators.searching.nodes import Node


class Ranks:
    """Open nodes of one group, fastest first.

    Args:
        frontier: tells which nodes are still open.
    """

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._heap: list[tuple[float, int]] = []

    def add(self, node: Node) -> None:
        """Take in a node; one without a time is left out."""
        if node.open and node.time_us is not None:
            heapq.heappush(self._heap, (node.time_us, node.id))

    def best(self) -> int | None:
        """Return the fastest open node; exhausted ones are dropped on the way."""
        while self._heap and not self._frontier.untried(self._heap[0][1]):
            heapq.heappop(self._heap)
        return self._heap[0][1] if self._heap else None

    def pop(self) -> int | None:
        """Return the fastest open node and drop it."""
        found = self.best()
        if found is not None:
            heapq.heappop(self._heap)
        return found
