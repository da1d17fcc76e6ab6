"""Turns of several groups that search side by side: who asked gets the outcome."""

from __future__ import annotations

from collections import deque

from maxkernel_orchestrators.searching.nodes import Node


class Lanes:
    """Round robin over ``count`` groups.

    Attributes:
        turn: whose turn it is.
        lane_of: the group a node belongs to, by node id.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.turn = 0
        self.lane_of: dict[int, int] = {}
        self._asked: dict[int, deque[int]] = {}

    def asked(self, parent: int) -> None:
        """The group whose turn it is asked for a child of ``parent``; the turn passes on."""
        self._asked.setdefault(parent, deque()).append(self.turn)
        self.turn = (self.turn + 1) % self.count

    def answered(self, node: Node) -> int:
        """Return the group that asked for ``node``; outcomes of one parent come in the order of asking."""
        waiting = self._asked.get(node.parent) if node.parent is not None else None
        lane = waiting.popleft() if waiting else 0
        self.lane_of[node.id] = lane
        return lane
