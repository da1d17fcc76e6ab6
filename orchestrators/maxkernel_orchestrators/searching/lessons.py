"""What moves did so far, shared by every branch: in which bottleneck which move helped, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Final

from maxkernel_orchestrators.searching.nodes import Node
from maxkernel_tools.records.base import Record

FAILED: Final = -0.3
"""Log speed-up a failed move counts as: about a quarter slower, so that one failure does not damn a move."""
_PRIOR_WEIGHT: Final = 2.0
_CURIOSITY: Final = 0.25
_LONGEST_EFFECT: Final = 1.5


class Lesson(Record):
    """What one move did in one bottleneck.

    Attributes:
        effect: mean natural logarithm of the speed-up over the parent; failures count as ``FAILED``.
        count: how often it was seen; ``failures`` of those gave no kernel.
    """

    context: str
    move: str
    effect: float
    count: int
    failures: int


class _Tally:
    """Running sums of one (context, move)."""

    __slots__ = ("count", "failures", "total")

    def __init__(self) -> None:
        self.count, self.failures, self.total = 0, 0, 0.0

    def add(self, effect: float, failed: bool) -> None:
        self.count += 1
        self.failures += failed
        self.total += effect


class Lessons:
    """Tallies of effects, and choices by them."""

    def __init__(self) -> None:
        self._by_context: dict[tuple[str, str], _Tally] = {}
        self._by_move: dict[str, _Tally] = {}

    def learn(self, parent: Node, node: Node) -> None:
        """Take in what ``node.move`` did to ``parent``."""
        failed = node.state == "failed"
        if node.time_us is not None and parent.time_us is not None and not failed:
            effect = math.log(parent.time_us / node.time_us)
        elif failed:
            effect = FAILED
        else:
            return
        effect = max(-_LONGEST_EFFECT, min(_LONGEST_EFFECT, effect))
        self._by_context.setdefault((parent.bound_by, node.move), _Tally()).add(effect, failed)
        self._by_move.setdefault(node.move, _Tally()).add(effect, failed)

    def expected(self, context: str, move: str) -> tuple[float, int]:
        """Return the mean log speed-up to expect, shrunk to the move's mean and to 0, and how often it was seen."""
        overall = self._by_move.get(move)
        prior = overall.total / (overall.count + _PRIOR_WEIGHT) if overall else 0.0
        here = self._by_context.get((context, move))
        if here is None:
            return prior, 0
        return (here.total + _PRIOR_WEIGHT * prior) / (here.count + _PRIOR_WEIGHT), here.count

    def choose(self, rng: Random, context: str, moves: Sequence[str]) -> str:
        """Return one of ``moves``: the best by expectation plus a random bonus that shrinks with what is known."""

        def drawn(move: str) -> float:
            mean, seen = self.expected(context, move)
            return mean + _CURIOSITY * rng.gauss(0.0, 1.0) / math.sqrt(1.0 + seen)

        return max(moves, key=drawn)

    def table(self) -> tuple[Lesson, ...]:
        """Every lesson, most certain first; what later plans are shown."""
        found = [
            Lesson(context=context, move=move, effect=t.total / t.count, count=t.count, failures=t.failures)
            for (context, move), t in self._by_context.items()
        ]
        return tuple(sorted(found, key=lambda lesson: (-lesson.count, lesson.context, lesson.move)))
