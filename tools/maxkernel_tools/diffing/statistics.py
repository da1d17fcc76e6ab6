"""Statistics of two sets of samples. Pure arithmetic on sequences; knows no traces.

Sources: Mann and Whitney 1947 (normal approximation with tie and continuity correction), Holm 1979, the order-statistic
interval of a median, Otsu 1979 (the split with the largest variance between groups).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MIN_SAMPLES = 8
_MIN_SEPARATION = 0.01
_MIN_SIGMAS = 6.0
_MIN_SHARE = 0.05
_MIN_MODE = 3


def _column(values: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(values, np.int64)


def mean(values: Sequence[int]) -> float:
    """Return the arithmetic mean."""
    return sum(values) / len(values)


def median(values: Sequence[int]) -> float:
    """Return the median."""
    middle = len(values) // 2
    if len(values) % 2:
        return float(np.partition(_column(values), middle)[middle])
    ordered = np.partition(_column(values), (middle - 1, middle))
    return (int(ordered[middle - 1]) + int(ordered[middle])) / 2


def median_interval(values: Sequence[int]) -> tuple[float, float]:
    """Return a 95 % interval of the median, by order statistics; of few samples it is their range."""
    ordered = np.sort(_column(values))
    count = len(ordered)
    reach = 1.96 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach) - 1)
    return float(ordered[low]), float(ordered[max(low, high)])


@dataclass(frozen=True, slots=True)
class RankTest:
    """A two-sided p and where the second set lies: ``shift`` > 0 when its values rank higher."""

    p: float
    shift: float


def mann_whitney(first: Sequence[int], second: Sequence[int]) -> RankTest:
    """Test whether two sets of samples come from one distribution, by ranks."""
    n1, n2 = len(first), len(second)
    total = n1 + n2
    _, places, tied = np.unique(
        np.concatenate([_column(first), _column(second)]), return_inverse=True, return_counts=True
    )
    # A tie shares the mean of the ranks it covers.
    ranks = np.cumsum(tied) - (tied - 1) / 2
    rank_sum = float(ranks[places[n1:]].sum())
    ties = float((tied.astype(np.float64) ** 3 - tied).sum())
    shift = rank_sum - n2 * (n2 + 1) / 2 - n1 * n2 / 2
    variance = n1 * n2 / 12 * (total + 1 - ties / (total * (total - 1))) if total > 1 else 0.0
    if variance <= 0:
        return RankTest(1.0, 0.0)
    z = max(0.0, abs(shift) - 0.5) / math.sqrt(variance)
    return RankTest(math.erfc(z / math.sqrt(2)), shift)


def holm(values: Sequence[float]) -> list[float]:
    """Return p values corrected for having tried them all, in the same order."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    corrected = [1.0] * len(values)
    highest = 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, values[at] * (len(values) - rank)))
        corrected[at] = highest
    return corrected


def relative(first: Sequence[int], second: Sequence[int]) -> float:
    """Return how far the means differ, relative to their middle: swapping the sides flips the sign, exactly."""
    one, other = mean(first), mean(second)
    middle = (one + other) / 2
    return (other - one) / middle if middle else 0.0


@dataclass(frozen=True, slots=True)
class TwoModes:
    """Samples in two groups: their means, and the positions of the fast ones in order."""

    fast: float
    slow: float
    fast_calls: tuple[int, ...]


def two_modes(samples: Sequence[int]) -> TwoModes | None:
    """Return the two groups samples fall into, None where they are one.

    Two groups are at least 1 % apart and six times further than either is wide, with 5 % and three samples in each.
    """
    count = len(samples)
    if count < MIN_SAMPLES:
        return None
    column = _column(samples)
    ordered = np.sort(column)
    least = max(_MIN_MODE, math.ceil(_MIN_SHARE * count))
    if 2 * least > count:
        return None
    cuts = np.arange(least, count - least + 1)
    below = np.cumsum(ordered)
    # Otsu: the cut with the largest variance between the groups it makes.
    apart = (below[-1] - below[cuts - 1]) / (count - cuts) - below[cuts - 1] / cuts
    cut = int(cuts[np.argmax(apart * apart * cuts * (count - cuts))])
    low, high = ordered[:cut], ordered[cut:]
    fast, slow = float(low.mean()), float(high.mean())
    wide = max(float(low.std()), float(high.std()))
    if slow - fast < max(_MIN_SEPARATION * slow, _MIN_SIGMAS * wide) or slow <= fast:
        return None
    return TwoModes(fast, slow, tuple(np.flatnonzero(column <= low[-1]).tolist()))


def ranges(positions: Sequence[int]) -> str:
    """Write positions as ranges: ``2-19, 49-50``."""
    parts: list[str] = []
    start = 0
    for at in range(len(positions)):
        if at + 1 == len(positions) or positions[at + 1] != positions[at] + 1:
            first, last = positions[start], positions[at]
            parts.append(str(first) if first == last else f"{first}-{last}")
            start = at + 1
    return ", ".join(parts)
