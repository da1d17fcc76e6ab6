"""``islands``: evolution on islands, each with an archive of elites over bottleneck and VMEM use (MAP-Elites)."""

from __future__ import annotations

from random import Random
from typing import Final

from maxkernel_orchestrators.searching.nodes import ROOT, Node
from maxkernel_orchestrators.searching.policies.lanes import Lanes
from maxkernel_orchestrators.searching.policies.port import Policy
from maxkernel_orchestrators.searching.policies.ranks import Ranks

ISLANDS: Final = 4
MIGRATION: Final = 0.1
"""How often an island takes its parent from another one."""
VMEM_BANDS: Final = 4

_Cell = tuple[str, int]


class Islands(Policy):
    """Each island in turn draws a parent from its archive by a tournament of two."""

    def __init__(self) -> None:
        super().__init__()
        self._lanes = Lanes(ISLANDS)
        self._archives: list[dict[_Cell, int]] = [{} for _ in range(ISLANDS)]
        self._ranks = [Ranks(self.frontier) for _ in range(ISLANDS)]

    def choose(self, rng: Random) -> int | None:
        """Return a parent for the island whose turn it is."""
        island = self._lanes.turn
        if not self._archives[island] and self.frontier.untried(ROOT):
            return ROOT
        if rng.random() < MIGRATION:
            island = rng.randrange(ISLANDS)
        elites = [node for node in self._archives[island].values() if self.frontier.untried(node)]
        if elites:
            pair = (rng.choice(elites), rng.choice(elites))
            return min(pair, key=lambda node: self.frontier.nodes[node].time_us or 0.0)
        best = self._ranks[island].best()
        if best is not None:
            return best
        return ROOT if self.frontier.untried(ROOT) else self.frontier.any(rng)

    def taken(self, parent: int) -> None:
        """The turn passes on; the child will live on the island that asked."""
        self._lanes.asked(parent)

    def told(self, node: Node) -> None:
        """Settle the node; it becomes an elite where it is the fastest of its kind."""
        if node.parent is None:
            return
        island = self._lanes.answered(node)
        if node.time_us is None or not node.open:
            return
        self._ranks[island].add(node)
        cell = (node.bound_by, min(VMEM_BANDS - 1, int((node.vmem or 0.0) * VMEM_BANDS)))
        elite = self._archives[island].get(cell)
        if elite is None or node.time_us < (self.frontier.nodes[elite].time_us or 0.0):
            self._archives[island][cell] = node.id
