"""Statistics against published definitions, scipy where it is installed, and their own symmetries."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxkernel_tools.diffing.statistics import (
    holm,
    mann_whitney,
    median,
    median_interval,
    ranges,
    relative,
    two_modes,
)

samples = st.lists(st.integers(0, 30), min_size=2, max_size=40)


def test_mann_whitney_by_hand() -> None:
    # U = 0 of 8 against 8, no ties: z = (32 - 0.5) / sqrt(8 * 8 * 17 / 12).
    test = mann_whitney(range(8), range(8, 16))
    assert test.p == pytest.approx(0.000939, abs=1e-6)
    assert test.shift == 32
    assert mann_whitney([5] * 9, [5] * 9).p == 1.0


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        ([1, 2, 2, 3, 5, 5, 5, 9], [2, 4, 5, 6, 7, 7, 9, 9, 10], 0.06432219850692031),
        ([0, 0, 0, 1, 1, 0, 0, 1, 0, 0], [1, 1, 0, 1, 1, 0, 1, 1], 0.07302263437963355),
        ([10, 20, 30], [11, 21, 31, 41], 0.376759117811582),
    ],
)
def test_mann_whitney_with_ties_as_scipy_1_17_has_it(first: list[int], second: list[int], p: float) -> None:
    assert mann_whitney(first, second).p == pytest.approx(p, rel=1e-9)


@settings(deadline=None, max_examples=40)
@given(samples, samples)
def test_the_shift_is_the_count_of_pairs(first: list[int], second: list[int]) -> None:
    wins = sum((b > a) + (b == a) / 2 for a in first for b in second)
    assert mann_whitney(first, second).shift == wins - len(first) * len(second) / 2


@settings(deadline=None, max_examples=40)
@given(samples, samples)
def test_swapping_the_sides(first: list[int], second: list[int]) -> None:
    one, other = mann_whitney(first, second), mann_whitney(second, first)
    assert one.p == pytest.approx(other.p)
    assert one.shift == -other.shift
    assert relative(first, second) == -relative(second, first)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.6, 0.7]) == [1.0, 1.0]


def test_median_and_interval() -> None:
    assert median([3, 1, 2, 10]) == 2.5
    assert median_interval([7]) == (7, 7)
    assert median_interval(range(101)) == (40, 60)


@settings(deadline=None, max_examples=40)
@given(samples)
def test_the_interval_holds_the_median(values: list[int]) -> None:
    low, high = median_interval(values)
    assert low <= median(values) <= high


def test_two_modes() -> None:
    noise = [(7 * at) % 5 for at in range(64)]
    one = [100_000 + 20 * jitter for jitter in noise]
    assert two_modes(one) is None
    fast = {3, 4, 5, 40}
    both = [value - (5_000 if at in fast else 0) for at, value in enumerate(one)]
    modes = two_modes(both)
    assert modes is not None
    assert set(modes.fast_calls) == fast
    assert two_modes([100] * 64) is None
    # One slow call is an outlier, not a mode; half a percent is not worth the word.
    assert two_modes([*one[:63], 200_000]) is None
    assert two_modes([100_000] * 32 + [100_500] * 32) is None
    assert two_modes([0] * 7) is None


def test_ranges() -> None:
    assert ranges([*range(2, 20), 49, 50, 60]) == "2-19, 49-50, 60"
    assert ranges([]) == ""
