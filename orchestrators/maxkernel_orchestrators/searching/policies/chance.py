"""``random``: any open node, any move. What every other policy has to beat at an equal budget."""

from __future__ import annotations

from random import Random

from maxkernel_orchestrators.searching.policies.port import Policy


class Chance(Policy):
    """Chooses uniformly."""

    def ask(self, rng: Random) -> tuple[int, str] | None:
        """Return a uniformly drawn open node and a uniformly drawn move from it."""
        parent = self.choose(rng)
        if parent is None:
            return None
        move = rng.choice(self.frontier.untried(parent))
        self.take(parent, move)
        return parent, move

    def choose(self, rng: Random) -> int | None:
        """Return any open node."""
        return self.frontier.any(rng)
