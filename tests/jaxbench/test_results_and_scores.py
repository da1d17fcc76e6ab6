"""Result files survive the way there and back; scores are what their definitions say."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from jaxbench.results import ResultRow, Results, read_rows
from jaxbench.scoring import score
from maxkernel_tools.errors import MisuseError


def row(task: str, verdict: str = "correct", speedup: float | None = 2.0, **more: object) -> ResultRow:
    fields = {"split": "jaxbench", "subject": "kernel", "time_source": "schedule-model", "target": "v6e", **more}
    return ResultRow.model_validate({"task": task, "verdict": verdict, "speedup": speedup, **fields})


def test_the_first_columns_are_task_benchmark_split_mode(tmp_path: Path) -> None:
    Results(tmp_path).put(row("8p_GEMM", time_us=4.5, significant=True))
    with (tmp_path / "results.csv").open() as stream:
        assert next(csv.reader(stream))[:4] == ["task", "benchmark", "split", "mode"]


@pytest.mark.parametrize("name", ["results.csv", "results.json", "."])
def test_rows_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    rows = (row("8p_GEMM", time_us=4.5, significant=True, message='a "quoted", text'), row("12p", "incorrect", None))
    for each in rows:
        Results.open(tmp_path).put(each)
    assert read_rows(tmp_path / name) == rows


def test_a_later_row_of_the_same_task_replaces_the_earlier(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.put(row("8p_GEMM", "incorrect", None))
    results.put(row("8p_GEMM"))
    results.put(row("8p_GEMM", subject="reference"))
    assert [(each.subject, each.verdict) for each in Results.open(tmp_path).rows] == [
        ("kernel", "correct"),
        ("reference", "correct"),
    ]


@pytest.mark.parametrize("text", ["", "{}", '{"rows": [{"task": 3}]}', "[1]"])
def test_a_foreign_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(MisuseError, match="cannot be read as results"):
        read_rows(tmp_path / "results.json")


def test_scores_by_hand() -> None:
    rows = [
        row("a", speedup=4.0, significant=True),
        row("b", speedup=0.5, significant=True),
        row("c", speedup=1.02, significant=False),
        row("d", "incorrect", None),
        row("e", speedup=9.0, labels="dead-algebra", significant=True),
        row("f", subject="reference", speedup=None),
    ]
    card = score(rows, expected=50)

    assert (card.all.tasks, card.all.correct, card.missing) == (5, 4, 45)
    assert card.all.fast_1 == pytest.approx(2 / 5)
    assert card.all.geomean_raw == pytest.approx((4.0 * 0.5 * 1.02 * 9.0) ** 0.25)
    assert card.all.geomean_floored == pytest.approx((4.0 * 1.0 * 1.02 * 1.0 * 9.0) ** 0.2)
    assert card.unlabelled.tasks == 4
    assert card.unlabelled.fast_1 == pytest.approx(1 / 4)
    assert card.unlabelled.geomean_raw == pytest.approx(math.exp(math.log(4.0 * 0.5 * 1.02) / 3))
    assert (card.labelled.tasks, card.labelled.geomean_raw) == (1, pytest.approx(9.0))
    assert card.all.time_sources == ("schedule-model",)


def test_a_failure_of_the_lab_does_not_count_against_the_candidate() -> None:
    card = score([row("a"), row("b", "ungraded", None, status="failed")])
    assert (card.all.tasks, card.all.correct_share) == (1, 1.0)


def test_a_slowdown_is_never_clipped_in_the_raw_mean() -> None:
    card = score([row("a", speedup=0.25), row("b", speedup=1.0)])
    assert card.all.geomean_raw == pytest.approx(0.5)
    assert card.all.geomean_floored == pytest.approx(1.0)


def test_nothing_graded() -> None:
    card = score([])
    assert (card.all.tasks, card.all.geomean_raw, card.all.geomean_floored) == (0, None, 1.0)
