"""The stored comparison with published times holds what docs/accuracy.md says of it."""

from __future__ import annotations

import pytest

from maxkernel_tools.profiling.accuracy import AccuracyCase, render_markdown, stored_report, summarise


def test_errors_over_the_published_times() -> None:
    report = stored_report()
    assert report.overall.cases == 32
    assert report.overall.median <= 0.03
    assert report.overall.p90 <= 0.12
    for group in report.groups:
        assert group.median <= 0.05, group
        assert group.worst <= 0.25, group
    assert report.spearman >= 0.97
    assert report.leave_one_out is not None
    assert report.leave_one_out.median <= 0.03


def test_every_bad_case_has_a_reason() -> None:
    for case in stored_report().cases:
        assert abs(case.error) < 0.06 or case.note, case.task


def test_the_page_names_every_case() -> None:
    report = stored_report()
    page = render_markdown(report)
    assert all(case.task in page for case in report.cases)
    assert f"{report.overall.median:.1%}" in page


def test_figures_by_arithmetic() -> None:
    cases = [
        AccuracyCase(
            task=name,
            group="a",
            published_us=100,
            source="here",
            estimate_us=estimate,
            interval_us=(90, 110),
        )
        for name, estimate in (("x", 100), ("y", 110), ("z", 80))
    ]
    report = summarise(cases, toolchain="t", target="v6e")
    assert report.overall.median == pytest.approx(0.1)
    assert report.overall.worst_task == "z"
    assert report.overall.inside == 3
    assert report.leave_one_out is None
