"""Decides whether a row changed. Owns the thresholds: samples, corrected p, an effect above measured noise.

A p value alone misleads: with thousands of samples 0.15 % gives 4e-17, while the cores of one capture, which ran the
same program, differ by up to 0.9 %. What cores and halves of a capture differ by is the floor (an A/A experiment).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maxkernel_tools.diffing.decomposing import Row
from maxkernel_tools.diffing.groups import Group, OpIndex, elsewhere
from maxkernel_tools.diffing.statistics import MIN_SAMPLES, holm, mann_whitney, ranges, relative, two_modes
from maxkernel_tools.records.diffs import DiffVerdict

ALPHA = 0.05
MIN_EFFECT = 0.005
FLOOR_FACTOR = 2.0


@dataclass(frozen=True)
class Judgement:
    """A verdict and what it rests on."""

    verdict: DiffVerdict
    p: float | None = None
    floor: float | None = None
    bimodal: str | None = None


@dataclass(frozen=True)
class Side:
    """One side's capture, for experiments on noise: the core compared, and all cores' ops by name."""

    core: int
    cores: Mapping[int, OpIndex]


def judge(rows: Sequence[Row], baseline: Side, candidate: Side) -> list[Judgement]:
    """Judge all rows together: p values are corrected for their number."""
    tests = [_test(row) for row in rows]
    tried = [at for at, test in enumerate(tests) if test is not None]
    corrected = holm([test[0] for test in tests if test is not None])
    p_values = dict(zip(tried, corrected, strict=True))
    return [_judge(row, tests[at], p_values.get(at), baseline, candidate) for at, row in enumerate(rows)]


def _test(row: Row) -> tuple[float, float] | None:
    one, two = row.pair.baseline, row.pair.candidate
    if one is None or two is None or min(len(one.samples), len(two.samples)) < MIN_SAMPLES:
        return None
    test = mann_whitney(one.samples, two.samples)
    return test.p, test.shift


def _judge(row: Row, test: tuple[float, float] | None, p: float | None, baseline: Side, candidate: Side) -> Judgement:
    one, two = row.pair.baseline, row.pair.candidate
    if one is None or two is None:
        return Judgement("added" if one is None else "removed")
    bimodal = "; ".join(
        said
        for said in (describe_modes("baseline", one, baseline), describe_modes("candidate", two, candidate))
        if said
    )
    if test is None or p is None:
        return Judgement("too few samples", bimodal=bimodal or None)
    floor = max(noise_floor(one, baseline), noise_floor(two, candidate))
    effect = relative(one.samples, two.samples)
    large = abs(effect) >= max(MIN_EFFECT, FLOOR_FACTOR * floor)
    # Ranks and mean must point the same way: a few long calls move a mean while most calls went the other way.
    agreed = effect * test[1] > 0
    verdict: DiffVerdict = "renamed" if row.pair.tier == 4 else "same within noise"
    if p < ALPHA and large and agreed:
        verdict = "faster" if effect < 0 else "slower"
    return Judgement(verdict, p, floor, bimodal or None)


def noise_floor(group: Group, side: Side) -> float:
    """Return how much the same row differs between cores, or between the halves of the capture, relative.

    Halves of a bimodal row are left out: they differ by where the fast calls fall, which the row reports by itself.
    """
    floor = 0.0
    for core, index in side.cores.items():
        other = elsewhere(group, index) if core != side.core else None
        if other is not None and other.samples:
            floor = max(floor, abs(relative(group.samples, other.samples)))
    half = len(group.samples) // 2
    if half and not (group.uniform and two_modes(group.samples)):
        floor = max(floor, abs(relative(group.samples[:half], group.samples[half:])))
    return floor


def describe_modes(name: str, group: Group, side: Side) -> str | None:
    """Say which calls of a bimodal row are fast (counted from 0), and whether it is the same on other cores."""
    modes = two_modes(group.samples) if group.uniform else None
    if modes is None:
        return None
    listed = ranges(modes.fast_calls)
    if len(listed) > 120:
        listed = f"{len(modes.fast_calls)} of {group.calls}"
    said = f"{name}: calls {listed} take {modes.fast / 1e6:.3f} us, the others {modes.slow / 1e6:.3f} us"
    others = [elsewhere(group, index) for core, index in side.cores.items() if core != side.core]
    found = [two_modes(other.samples) for other in others if other is not None and other.samples]
    if not found:
        return said
    same = all(other is not None and other.fast_calls == modes.fast_calls for other in found)
    return f"{said}, {'the same calls on every core' if same else 'other calls on other cores'}"
