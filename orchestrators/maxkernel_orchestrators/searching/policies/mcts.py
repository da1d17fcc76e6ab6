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


class _Branch:
    """Statistics of a node: visits, the best log time below it, untried moves below it."""

    __slots__ = ("best", "children", "moves", "visits")

    def __init__(self) -> None:
        self.visits = 0
        self.best = math.inf
        self.moves = 0
        self.children: list[int] = []


class Mcts(Policy):
    """UCT with max backup and progressive widening.

    A choice counts as a visit at once, so that choices made together spread.
    """

    def __init__(self) -> None:
        super().__init__()
        self._branches: dict[int, _Branch] = {}

    def choose(self, rng: Random) -> int | None:  # noqa: ARG002 - ties are broken by age
        """Walk down from the root to a node with a move to spare."""
        here = ROOT
        while True:
            branch = self._branches.get(here)
            if branch is None or not branch.moves:
                return None
            children = [child for child in branch.children if self._branches[child].moves]
            wide = len(branch.children) >= WIDENING * math.sqrt(branch.visits + 1)
            if self.frontier.untried(here) and not (wide and children):
                return here
            if not children:
                return None
            visits = branch.visits
            here = max(children, key=lambda child: self._score(visits, self._branches[child]))

    def _score(self, visits: int, child: _Branch) -> float:
        overall = self._branches[ROOT].best
        value = math.exp(SHARPNESS * (overall - child.best)) if math.isfinite(child.best) else 0.0
        return value + EXPLORATION * math.sqrt(math.log(visits + 1) / (child.visits + 1))

    def taken(self, parent: int) -> None:
        """Count a visit, and one untried move less, all the way up."""
        for branch in self._upwards(parent):
            branch.visits += 1
            branch.moves -= 1

    def told(self, node: Node) -> None:
        """Hang the node into the tree and carry its time and its moves up."""
        self._branches[node.id] = _Branch()
        if node.parent is not None:
            self._branches[node.parent].children.append(node.id)
        moves = len(self.frontier.untried(node.id))
        timed = node.time_us is not None and node.state in {"verified", "screened"}
        log_time = math.log(node.time_us) if timed and node.time_us else math.inf
        for branch in self._upwards(node.id):
            branch.moves += moves
            branch.best = min(branch.best, log_time)

    def _upwards(self, start: int) -> list[_Branch]:
        path: list[_Branch] = []
        here: int | None = start
        while here is not None:
            path.append(self._branches[here])
            here = self.frontier.nodes[here].parent
        return path
