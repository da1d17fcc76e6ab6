"""``beam``: generations; each tries a few moves from every member, and the best of all known go on (elitist)."""

from __future__ import annotations

from random import Random
from typing import Final

from maxkernel_orchestrators.searching.nodes import ROOT, Node
from maxkernel_orchestrators.searching.policies.port import Policy
from maxkernel_orchestrators.searching.policies.ranks import Ranks

WIDTH: Final = 4
BRANCH: Final = 3


class Beam(Policy):
    """Breadth ``WIDTH``, ``BRANCH`` moves per member and generation; the root's designs are the first generation."""

    def __init__(self) -> None:
        super().__init__()
        self._ranks = Ranks(self.frontier)
        self._quota: dict[int, int] = {ROOT: WIDTH * BRANCH}
        self._pending = 0

    def choose(self, rng: Random) -> int | None:  # noqa: ARG002 - the only chance is in the moves
        """Return a member that has moves left in this generation; None until the generation's outcomes are told."""
        return next((node for node, left in self._quota.items() if left and self.frontier.untried(node)), None)

    def taken(self, parent: int) -> None:
        """Count the move against the member's share."""
        self._quota[parent] -= 1
        self._pending += 1

    def told(self, node: Node) -> None:
        """Rank the node; after a generation's last outcome the next one is chosen."""
        self._ranks.add(node)
        if node.parent is not None:
            self._pending -= 1
            if not self._pending and not any(left and self.frontier.untried(one) for one, left in self._quota.items()):
                self._next_generation()

    def _next_generation(self) -> None:
        members: list[int] = []
        while len(members) < WIDTH and (best := self._ranks.pop()) is not None:
            members.append(best)
        for member in members:
            self._ranks.add(self.frontier.nodes[member])
        self._quota = dict.fromkeys(members or [ROOT], BRANCH)
