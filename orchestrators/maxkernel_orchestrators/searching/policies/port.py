"""The port of a policy, and what all of them do alike: keep a frontier, learn lessons."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

from maxkernel_orchestrators.searching.frontier import Frontier
from maxkernel_orchestrators.searching.lessons import Lessons
from maxkernel_orchestrators.searching.nodes import ROOT, Node


class Policy(ABC):
    """Chooses by ask and tell. Deterministic in the generator it is handed and in what it was told.

    A choice is made by :meth:`ask` and counts from then on, before its outcome is told; a resumed search puts earlier
    choices back with :meth:`take`.
    """

    def __init__(self) -> None:
        self.frontier = Frontier()
        self.lessons = Lessons()

    def ask(self, rng: Random) -> tuple[int, str] | None:
        """Return ``(node, move)`` to try next; None where nothing can be chosen before more is told, or ever."""
        parent = self.choose(rng)
        if parent is None:
            return None
        context = self.frontier.nodes[parent].bound_by
        # From the root every move is a different design, in the author's own order of promise.
        untried = self.frontier.untried(parent)
        move = untried[0] if parent == ROOT else self.lessons.choose(rng, context, untried)
        self.take(parent, move)
        return parent, move

    def take(self, parent: int, move: str) -> None:
        """Count ``move`` from ``parent`` as under way."""
        self.frontier.take(parent, move)
        self.taken(parent)

    def tell(self, node: Node) -> None:
        """Take in an outcome."""
        self.frontier.add(node)
        if node.parent is not None:
            self.lessons.learn(self.frontier.nodes[node.parent], node)
        self.told(node)

    @abstractmethod
    def choose(self, rng: Random) -> int | None:
        """Return an open node to go on from."""

    def taken(self, parent: int) -> None:  # noqa: B027 - some policies have nothing to note
        """Note that a move from ``parent`` is under way."""

    def told(self, node: Node) -> None:  # noqa: B027 - likewise
        """Note an outcome; the frontier and the lessons know it already."""
