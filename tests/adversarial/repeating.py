"""The same kernels judged again and again: every verdict draws new seeds, and must be the same one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

from maxkernel_tools.checking.at_once import all_of
from tests.adversarial.corpus import Entry, entries, judge

# Near the edge of what arithmetic allows, or wrong in part of the output only; each with its honest twin.
PAIRS = ("silent-bf16", "coarse-function", "shortened-recurrence", "one-buffer-twice", "dropped-tail")


@dataclass(frozen=True)
class Repeated:
    """The verdicts of one kernel, with how often each came."""

    name: str
    which: str
    verdicts: dict[str, int]

    @property
    def steady(self) -> bool:
        """Whether all were the same, and the right one."""
        return len(self.verdicts) == 1 and (next(iter(self.verdicts)) == "correct") == (self.which == "twin")


async def repeat(runtime: Any, times: int) -> list[Repeated]:
    """Judge both kernels of every pair ``times`` times, two at a time."""
    known: dict[str, Entry] = {entry.name: entry for entry in entries()}
    asked = [(name, which) for name in PAIRS for which in ("cheat", "twin")]
    steps = [partial(judge, runtime, known[name], which) for name, which in asked for _ in range(times)]
    outcomes = await all_of(steps)
    found: list[Repeated] = []
    for position, (name, which) in enumerate(asked):
        mine = outcomes[position * times : (position + 1) * times]
        found.append(Repeated(name, which, dict(Counter(outcome.verdict for outcome in mine))))
    return found
