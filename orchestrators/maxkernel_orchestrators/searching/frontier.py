"""Nodes with the moves nobody tried from them yet: the bookkeeping all policies share."""

from __future__ import annotations

from random import Random

from maxkernel_orchestrators.searching.nodes import Node


class Frontier:
    """Open nodes and their untried moves.

    Attributes:
        nodes: every node told of, by id.
    """

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self._untried: dict[int, list[str]] = {}
        self._ids: list[int] = []
        self._places: dict[int, int] = {}

    def add(self, node: Node) -> None:
        """Take in a node."""
        self.nodes[node.id] = node
        if node.open:
            self._untried[node.id] = list(node.moves)
            self._places[node.id] = len(self._ids)
            self._ids.append(node.id)

    def untried(self, node_id: int) -> list[str]:
        """Moves not tried from a node; empty where it is closed."""
        return self._untried.get(node_id, [])

    def take(self, node_id: int, move: str) -> None:
        """Mark a move as tried."""
        moves = self._untried[node_id]
        moves.remove(move)
        if not moves:
            del self._untried[node_id]
            place = self._places.pop(node_id)
            last = self._ids.pop()
            if last != node_id:
                self._ids[place] = last
                self._places[last] = place

    def any(self, rng: Random) -> int | None:
        """Return an open node, uniformly; None where all are exhausted."""
        return self._ids[rng.randrange(len(self._ids))] if self._ids else None
