"""Pairs modules, then groups of ops. Owns the tiers; each op is used once and the tier is told.

Instruction numbers alone never pair: compilers renumber, and a third of such pairs would be false.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from maxkernel_tools.diffing.groups import Group
from maxkernel_tools.diffing.statistics import MIN_SAMPLES
from maxkernel_tools.traces.profile import Module, Op

# Names the compiler gives to whatever does this; they say nothing about which one it is.
_GENERIC = frozenset(
    {
        "add",
        "all-gather",
        "all-reduce",
        "all-to-all",
        "async-done",
        "async-start",
        "bitcast",
        "broadcast",
        "call",
        "concatenate",
        "conditional",
        "constant",
        "convert",
        "convolution",
        "copy",
        "copy-done",
        "copy-start",
        "custom-call",
        "divide",
        "dot",
        "dynamic-slice",
        "dynamic-update-slice",
        "fusion",
        "gather",
        "get-tuple-element",
        "iota",
        "maximum",
        "multiply",
        "pad",
        "permute",
        "reduce",
        "reduce-scatter",
        "reshape",
        "rng",
        "scatter",
        "select",
        "slice",
        "slice-done",
        "slice-start",
        "sort",
        "subtract",
        "transpose",
        "tuple",
        "while",
    }
)
_DIGITS = re.compile(r"\d+")
_SUFFIX = re.compile(r"\.(?:kd|cloned|clone)$")

_Key = Callable[[Op], Hashable | None]


@dataclass(frozen=True)
class Pair:
    """A group on each side; one may be missing."""

    baseline: Group | None
    candidate: Group | None
    tier: int | None

    @property
    def shown(self) -> Op:
        """The op that names the pair."""
        group = self.baseline or self.candidate
        if group is None:
            raise ValueError("a pair has at least one side")
        return group.first


@dataclass(frozen=True)
class ModulePair:
    """A program on each side; one may be missing."""

    baseline: Module | None
    candidate: Module | None

    @property
    def name(self) -> str:
        """Its name, the baseline's first."""
        module = self.baseline or self.candidate
        return module.name if module else ""


def pair_modules(baseline: Sequence[Module], candidate: Sequence[Module]) -> list[ModulePair]:
    """Pair programs: by name and fingerprint, by name in order, and a single one left on both sides by that."""
    left, right = list(baseline), list(candidate)
    pairs: list[ModulePair] = []

    def take(matches: Callable[[Module, Module], bool]) -> None:
        for one in list(left):
            other = next((two for two in right if matches(one, two)), None)
            if other is not None:
                left.remove(one)
                right.remove(other)
                pairs.append(ModulePair(one, other))

    take(lambda one, two: one.name == two.name and one.program_id == two.program_id)
    take(lambda one, two: one.name == two.name)
    if len(left) == 1 and len(right) == 1:
        take(lambda _one, _two: True)
    pairs.extend(ModulePair(one, None) for one in left)
    pairs.extend(ModulePair(None, two) for two in right)
    return pairs


def _by_scope(op: Op) -> Hashable:
    return (op.scope, op.category, op.base)


def _by_shape(op: Op) -> Hashable | None:
    return None if op.base in _GENERIC else (op.base, op.category)


def _by_source(op: Op) -> Hashable | None:
    return (op.source, op.category) if op.source else None


def _by_rule(op: Op) -> Hashable | None:
    """Undo what renames kernels without changing them: a suffix, block sizes in the name."""
    stem = _DIGITS.sub("#", _SUFFIX.sub("", op.base))
    return None if op.base in _GENERIC else (stem, op.category)


def pair_ops(baseline: Sequence[Op], candidate: Sequence[Op]) -> list[Pair]:
    """Pair the ops of one module.

    Returns:
        Paired groups with their tier, then what is left, rolled up by category and name.
    """
    left, right = list(baseline), list(candidate)
    pairs: list[Pair] = []
    keys: tuple[tuple[int, _Key], ...] = ((1, _by_scope), (2, _by_shape), (3, _by_source), (4, _by_rule))
    for tier, key in keys:
        mine, theirs = _grouped(left, key), _grouped(right, key)
        used: set[int] = set()
        for name, ops in mine.items():
            others = theirs.get(name)
            if others is None:
                continue
            one, two = Group.of(ops), Group.of(others)
            if tier == 2 and one.signature != two.signature:
                continue
            pairs.extend(_aligned(one, two, tier))
            used.update(id(op) for op in (*ops, *others))
        left = [op for op in left if id(op) not in used]
        right = [op for op in right if id(op) not in used]
    pairs.extend(Pair(Group.of(ops), None, None) for ops in _grouped(left, _rolled).values())
    pairs.extend(Pair(None, Group.of(ops), None) for ops in _grouped(right, _rolled).values())
    return pairs


def _rolled(op: Op) -> Hashable:
    return (op.category, op.base)


def _grouped(ops: Sequence[Op], key: _Key) -> dict[Hashable, list[Op]]:
    groups: dict[Hashable, list[Op]] = {}
    for op in ops:
        name = key(op)
        if name is not None:
            groups.setdefault(name, []).append(op)
    return groups


def _aligned(one: Group, two: Group, tier: int) -> list[Pair]:
    """Split a pair of groups into instructions, in device order, where each has samples enough to stand alone."""
    several = len(one.ops) == len(two.ops) > 1
    if several and all(min(a.calls, b.calls) >= MIN_SAMPLES for a, b in zip(one.ops, two.ops, strict=True)):
        return [Pair(Group((a,)), Group((b,)), tier) for a, b in zip(one.ops, two.ops, strict=True)]
    return [Pair(one, two, tier)]


def matched_share(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return the fraction of op time that is paired, per side; 1 where a side has no time."""
    total: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    for pair in pairs:
        for side, group in (("baseline", pair.baseline), ("candidate", pair.candidate)):
            if group is not None:
                total[side] += group.ps
                matched[side] += group.ps if pair.tier is not None else 0
    first, second = (matched[side] / total[side] if total[side] else 1.0 for side in ("baseline", "candidate"))
    return first, second
