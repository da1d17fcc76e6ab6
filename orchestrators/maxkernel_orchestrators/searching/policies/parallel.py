"""``parallel``: several climbers, each from a design of its own, each from its own best; they share lessons only."""

from __future__ import annotations

from random import Random
from typing import Final

from maxkernel_orchestrators.searching.nodes import ROOT, Node
from maxkernel_orchestrators.searching.policies.lanes import Lanes
from maxkernel_orchestrators.searching.policies.port import Policy
from maxkernel_orchestrators.searching.policies.ranks import Ranks

CLIMBERS: Final = 4


class Parallel(Policy):
    """Round robin over climbers."""

    def __init__(self) -> None:
        super().__init__()
        self._lanes = Lanes(CLIMBERS)
        self._ranks = [Ranks(self.frontier) for _ in range(CLIMBERS)]

    def choose(self, rng: Random) -> int | None:
        """Return the climber's best open node; one without starts a new design, or helps the best of the others."""
        own = self._ranks[self._lanes.turn].best()
        if own is not None:
            return own
        if self.frontier.untried(ROOT):
            return ROOT
        others = [best for ranks in self._ranks if (best := ranks.best()) is not None]
        if others:
            return min(others, key=lambda node: self.frontier.nodes[node].time_us or 0.0)
        return self.frontier.any(rng)

    def taken(self, parent: int) -> None:
        """The turn passes on."""
        self._lanes.asked(parent)

    def told(self, node: Node) -> None:
        """Give a node to the climber that asked for it."""
        if node.parent is not None:
            self._ranks[self._lanes.answered(node)].add(node)
