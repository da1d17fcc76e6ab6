"""Scores from result rows: how many are right, how many right and faster, and the geometric mean of the speed-ups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from jaxbench.results import ResultRow
from maxkernel_tools.records.base import Record


class Score(Record):
    """Scores over one group of tasks.

    Attributes:
        tasks: tasks with a graded kernel.
        correct: of these, verdict ``correct``. ``correct_share``: their share.
        fast_1: share of tasks that are correct and faster than the reference beyond noise.
        geomean_raw: geometric mean of the speed-ups of the correct kernels, slow-downs included; None without any.
        geomean_floored: the same over all tasks, a kernel that is wrong or slower counting as 1.0 (the reference is
            used in its place).
        unscored: correct kernels without a speed-up (no estimate could be had); they count as 1.0 when floored.
        time_sources: where the times come from; estimates are not measurements.
    """

    tasks: int
    correct: int
    correct_share: float
    fast_1: float
    geomean_raw: float | None
    geomean_floored: float
    unscored: int
    time_sources: tuple[str, ...]


class ScoreCard(Record):
    """All tasks, and the same without and for only those that carry a label (dead algebra, legal shortcuts).

    Attributes:
        missing: tasks of the graded splits without a graded kernel.
    """

    all: Score
    unlabelled: Score
    labelled: Score
    missing: int = 0


def score(rows: Iterable[ResultRow], expected: int = 0) -> ScoreCard:
    """Score the rows of graded kernels; rows of references are left out.

    Args:
        rows: rows, the last of a task counting.
        expected: how many tasks there are to grade.
    """
    graded = list({row.task: row for row in rows if _graded(row)}.values())
    return ScoreCard(
        all=_score(graded),
        unlabelled=_score([row for row in graded if not row.labels]),
        labelled=_score([row for row in graded if row.labels]),
        missing=max(0, expected - len(graded)),
    )


def _graded(row: ResultRow) -> bool:
    """Whether the row tells of a kernel; a failure of the lab does not count against a candidate."""
    return row.subject == "kernel" and row.status == "done"


def _score(rows: Sequence[ResultRow]) -> Score:
    correct = [row for row in rows if row.verdict == "correct"]
    speedups = [row.speedup for row in correct if row.speedup is not None and row.speedup > 0]
    fast = [row for row in correct if (row.speedup or 0) > 1 and row.significant is not False]
    floored = [max(1.0, (row.speedup or 1.0) if row.verdict == "correct" else 1.0) for row in rows]
    return Score(
        tasks=len(rows),
        correct=len(correct),
        correct_share=len(correct) / len(rows) if rows else 0.0,
        fast_1=len(fast) / len(rows) if rows else 0.0,
        geomean_raw=_geomean(speedups) if speedups else None,
        geomean_floored=_geomean(floored) if floored else 1.0,
        unscored=len(correct) - len(speedups),
        time_sources=tuple(sorted({row.time_source for row in correct})),
    )


def _geomean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))
