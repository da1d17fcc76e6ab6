"""``--fail-on``: its grammar, and that what could not be judged never passes."""

from __future__ import annotations

import pytest

from maxkernel_tools.diffing.gating import judge_condition, parse_condition
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.diffs import DiffResult, DiffRow, DiffVerdict


def row(verdict: DiffVerdict, change: float, *, pallas: bool = False) -> DiffRow:
    return DiffRow(
        name="k", module="m", category="c", verdict=verdict, is_pallas=pallas, baseline_calls=9, candidate_calls=9,
        baseline_us=100.0, candidate_us=100 + 100 * change, delta_us=100 * change, calls_effect_us=0.0,
        per_call_effect_us=100 * change, mean_change=change,
    )  # fmt: skip


def result(delta: float, *, comparable: bool = True) -> DiffResult:
    return DiffResult(ok=comparable, summary="said", comparable=comparable, baseline_us=100.0, delta_us=delta)


@pytest.mark.parametrize(
    ("text", "delta", "rows", "outcome"),
    [
        ("slower:1%", 5.0, [row("slower", 0.05)], "met"),
        ("slower:1%", 1.0, [row("slower", 0.01)], "passed"),
        ("slower:1%", -5.0, [row("faster", -0.05)], "passed"),
        ("slower:4us", 5.0, [row("slower", 0.05)], "met"),
        ("slower:6us", 5.0, [row("slower", 0.05)], "passed"),
        ("slower", 0.1, [row("slower", 0.001)], "met"),
        # Slower, and no row says so beyond noise: neither a pass nor a failure that could be defended.
        ("slower:1%", 5.0, [row("too few samples", 0.05)], "inconclusive"),
        ("kernel-slower:2%", 0.0, [row("slower", 0.05)], "inconclusive"),
        ("kernel-slower:2%", 0.0, [row("slower", 0.05, pallas=True)], "met"),
        ("kernel-slower:2%", 0.0, [row("same within noise", 0.05, pallas=True)], "passed"),
        ("row-slower:2%", 0.0, [row("too few samples", 0.05)], "inconclusive"),
        ("row-slower:2%", 0.0, [row("too few samples", 0.01)], "passed"),
    ],
)
def test_outcomes(text: str, delta: float, rows: list[DiffRow], outcome: str) -> None:
    assert judge_condition(parse_condition(text), result(delta), rows).outcome == outcome


def test_different_programs_never_pass() -> None:
    assert judge_condition(parse_condition("slower:1%"), result(-50.0, comparable=False), []).outcome == "inconclusive"


@pytest.mark.parametrize("text", ["", "faster:1%", "slower:1", "slower:-1%", "slower:1%%", "row-slower:x%"])
def test_anything_else_is_misuse(text: str) -> None:
    with pytest.raises(MisuseError, match="slower:1%"):
        parse_condition(text)
