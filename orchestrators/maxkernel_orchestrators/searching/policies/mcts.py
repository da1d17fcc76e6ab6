"""``mcts``: a tree searched by UCT over moves, with the best time below a node as its value."""

from __future__ import annotations

import math
from random import Random
from typing import Final

from maxkernel_orchestrators.searching.nodes import ROOT, Node
from maxkernel_orchestrators.searching.policies.port import Policy

EXPLORATION: Final = 0.4
SHARPNESS: Final = 5.0
"""A child whose best is 20 % slower than the best of all is worth 1/e of it."""
WIDENING: Final = 1.5
"""A node may have ``WIDENING * sqrt(visits)`` children before its children are visited instead."""
DEEPEST: Final = 48
"""Moves in a row beyond which a path is a walk, not a design; it also bounds the time of a choice."""


class _Branch:
    """Statistics of a node: visits, the best log time below it, and how many ways on there are.

    ``ways`` counts the node itself, while it has untried moves, and its children that have ways on.
    """

    __slots__ = ("best", "children", "depth", "id", "parent", "visits", "ways")

    def __init__(self, node_id: int, parent: _Branch | None) -> None:
        self.id, self.parent = node_id, parent
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.visits, self.ways = 0, 0
        self.best = math.inf
        self.children: list[_Branch] = []


class Mcts(Policy):
    """UCT with max backup and progressive widening.

    A choice counts as a visit at once, so that choices made together spread.
    """

    def __init__(self) -> None:
        super().__init__()
        self._branches: dict[int, _Branch] = {}

    def choose(self, rng: Random) -> int | None:  # noqa: ARG002 - ties are broken by age
        """Walk down from the root to a node with a move to spare."""
        here = self._branches.get(ROOT)
        overall = here.best if here is not None else math.inf
        while here is not None and here.ways:
            children = [child for child in here.children if child.ways]
            wide = len(here.children) >= WIDENING * math.sqrt(here.visits + 1)
            untried = here.depth < DEEPEST and self.frontier.untried(here.id)
            if untried and not (wide and children):
                return here.id
            explored = math.log(here.visits + 1)
            here = max(children, key=lambda child: _score(child, overall, explored), default=None)
        return None

    def taken(self, parent: int) -> None:
        """Count a visit all the way up; a node without untried moves is one way on less."""
        branch = self._branches[parent]
        if not self.frontier.untried(parent):
            _close(branch)
        above: _Branch | None = branch
        while above is not None:
            above.visits += 1
            above = above.parent

    def told(self, node: Node) -> None:
        """Hang the node into the tree; carry its time up as far as it is the best, its ways as far as they are new."""
        parent = self._branches[node.parent] if node.parent is not None else None
        branch = self._branches[node.id] = _Branch(node.id, parent)
        if parent is not None:
            parent.children.append(branch)
        if branch.depth < DEEPEST and self.frontier.untried(node.id):
            _open(branch)
        if node.time_us is None or node.state not in {"verified", "screened"}:
            return
        log_time = math.log(node.time_us)
        above: _Branch | None = branch
        while above is not None and log_time < above.best:
            above.best = log_time
            above = above.parent


def _score(child: _Branch, overall: float, explored: float) -> float:
    value = math.exp(SHARPNESS * (overall - child.best)) if math.isfinite(child.best) else 0.0
    return value + EXPLORATION * math.sqrt(explored / (child.visits + 1))


def _open(branch: _Branch) -> None:
    above: _Branch | None = branch
    while above is not None:
        above.ways += 1
        if above.ways > 1:
            return
        above = above.parent


def _close(branch: _Branch) -> None:
    above: _Branch | None = branch
    while above is not None:
        above.ways -= 1
        if above.ways:
            return
        above = above.parent
