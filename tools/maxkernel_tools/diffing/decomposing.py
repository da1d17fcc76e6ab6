"""Splits a delta into rows, each row into a calls effect and a per-call effect. Exact: rational picoseconds, no float.

With c calls of mean time m on a side, ``c2 m2 - c1 m1 = (c2 - c1)(m1 + m2)/2 + (m2 - m1)(c1 + c2)/2``; swapping the
sides flips both signs. Where a side has no calls its mean is the other's: all is a calls effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from maxkernel_tools.diffing.groups import Group
from maxkernel_tools.diffing.matching import ModulePair, Pair, pair_modules, pair_ops
from maxkernel_tools.traces.profile import Module, Op, TraceProfile


@dataclass(frozen=True)
class Split:
    """A delta in two parts, ps."""

    baseline: Fraction
    candidate: Fraction
    calls_effect: Fraction
    per_call_effect: Fraction

    @property
    def delta(self) -> Fraction:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


def split(
    baseline: Group | None, candidate: Group | None, scales: tuple[Fraction, Fraction] = (Fraction(1), Fraction(1))
) -> Split:
    """Split the delta of two groups; each side's calls and times are multiplied by its scale."""
    calls_1 = (baseline.calls if baseline else 0) * scales[0]
    calls_2 = (candidate.calls if candidate else 0) * scales[1]
    time_1 = (baseline.ps if baseline else 0) * scales[0]
    time_2 = (candidate.ps if candidate else 0) * scales[1]
    mean_1 = time_1 / calls_1 if calls_1 else time_2 / calls_2
    mean_2 = time_2 / calls_2 if calls_2 else mean_1
    return Split(
        time_1,
        time_2,
        (calls_2 - calls_1) * (mean_1 + mean_2) / 2,
        (mean_2 - mean_1) * (calls_1 + calls_2) / 2,
    )


@dataclass(frozen=True)
class Row:
    """A pair with its split."""

    module: str
    pair: Pair
    split: Split


@dataclass(frozen=True)
class ModuleSplit:
    """One program on both sides, ps; ``delta`` is ``ops_delta + idle_delta``."""

    pair: ModulePair
    baseline: Fraction
    candidate: Fraction
    ops_delta: Fraction
    idle_delta: Fraction

    @property
    def delta(self) -> Fraction:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


@dataclass(frozen=True)
class Decomposition:
    """All rows and modules of one core a side. ``per_run`` says that run counts differ and all is per run."""

    rows: tuple[Row, ...]
    modules: tuple[ModuleSplit, ...]
    per_run: bool

    @property
    def ops_delta(self) -> Fraction:
        """Sum over ops."""
        return sum((row.split.delta for row in self.rows), Fraction(0))

    @property
    def idle_delta(self) -> Fraction:
        """Time no op accounts for."""
        return sum((module.idle_delta for module in self.modules), Fraction(0))

    @property
    def module_delta(self) -> Fraction:
        """All programs."""
        return sum((module.delta for module in self.modules), Fraction(0))


def decompose(baseline: TraceProfile, candidate: TraceProfile, cores: tuple[int, int]) -> Decomposition:
    """Pair everything of one core a side and split it.

    Raises:
        ArithmeticError: rows and idle do not sum to the modules' delta, which would be a fault of this package.
    """
    ops = _by_module(baseline, cores[0]), _by_module(candidate, cores[1])
    pairs = pair_modules(_modules(baseline, cores[0]), _modules(candidate, cores[1]))
    per_run = any(pair.baseline and pair.candidate and pair.baseline.runs != pair.candidate.runs for pair in pairs)
    rows: list[Row] = []
    modules: list[ModuleSplit] = []
    for pair in pairs:
        one, two = pair.baseline, pair.candidate
        scales = _scale(one, per_run), _scale(two, per_run)
        mine = ops[0].get((one.name, one.program_id), []) if one else []
        theirs = ops[1].get((two.name, two.program_id), []) if two else []
        found = [
            Row(pair.name, found, split(found.baseline, found.candidate, scales)) for found in pair_ops(mine, theirs)
        ]
        rows.extend(found)
        before, after = (one.ps if one else 0) * scales[0], (two.ps if two else 0) * scales[1]
        idle = (two.idle_ps if two else 0) * scales[1] - (one.idle_ps if one else 0) * scales[0]
        modules.append(ModuleSplit(pair, before, after, sum((row.split.delta for row in found), Fraction(0)), idle))
    result = Decomposition(tuple(rows), tuple(modules), per_run)
    if result.ops_delta + result.idle_delta != result.module_delta:
        raise ArithmeticError("rows and idle do not sum to the delta of the modules")
    return result


def _scale(module: Module | None, per_run: bool) -> Fraction:
    return Fraction(1, module.runs) if per_run and module and module.runs else Fraction(1)


def _by_module(profile: TraceProfile, core: int) -> dict[tuple[str, str], list[Op]]:
    found: dict[tuple[str, str], list[Op]] = {}
    for op in profile.ops:
        if op.core == core:
            found.setdefault((op.module, op.program_id), []).append(op)
    return found


def _modules(profile: TraceProfile, core: int) -> Sequence[Module]:
    modules = [module for module in profile.modules if module.core == core]
    known = {(module.name, module.program_id) for module in modules}
    # A table of totals has ops and no modules: each program counts as one run without idle.
    modules.extend(
        Module(name, program, core, (sum(op.self_ps for op in ops),), 0)
        for (name, program), ops in _by_module(profile, core).items()
        if (name, program) not in known
    )
    return modules
