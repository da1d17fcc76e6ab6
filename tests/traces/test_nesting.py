"""Self time: conserved, and not lost to a picosecond of rounding."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maxkernel_tools.traces.nesting import self_times as columns_self_times


def self_times(spans: list[tuple[int, int]]) -> tuple[list[int], int]:
    own, overlap = columns_self_times(
        np.array([start for start, _ in spans], np.int64), np.array([length for _, length in spans], np.int64)
    )
    return own.tolist(), overlap


def test_neighbours_that_overlap_by_a_picosecond_are_not_nested() -> None:
    assert self_times([(0, 101), (100, 101), (200, 100)]) == ([101, 101, 100], 2)


def test_children_are_taken_from_the_innermost_holder() -> None:
    own, overlap = self_times([(0, 100), (10, 50), (20, 10), (70, 30)])
    assert own == [20, 40, 10, 30]
    assert overlap == 0


def test_a_holder_survives_an_op_that_sticks_out() -> None:
    # (90, 20) sticks out of (0, 100), and (95, 2) lies in both: the inner one pays.
    assert self_times([(0, 100), (90, 20), (95, 2)])[0] == [100, 18, 2]


def test_zero_durations() -> None:
    assert self_times([(0, 10), (0, 0), (10, 0), (10, 5)]) == ([10, 0, 0, 5], 0)


spans = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 60)), max_size=40)


@settings(deadline=None, max_examples=40)
@given(spans)
def test_sums_are_the_union_and_the_overlap(found: list[tuple[int, int]]) -> None:
    ordered = sorted(found, key=lambda span: (span[0], -span[1]))
    own, overlap = self_times(ordered)
    covered = {at for start, length in ordered for at in range(start, start + length)}
    assert sum(own) == len(covered) + overlap
