"""The model against published device times: stored cases, figures over them, and the page that shows them.

The cases were estimated from each reference compiled with the toolchain the times were taken with
(``benchmarks/accuracy_cases.py``); nothing is fitted per task.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from maxkernel_tools.records.base import Record

_METHOD = (
    "Four constants (HBM rate, transfer latency, cost per piece of a strided write, launch) were chosen on these "
    "cases; the leave-one-out row repeats that choice without the case it is applied to. The model's structure and "
    "the rules that widen its intervals were developed with the same cases in view, so the last column is not a "
    "held-out figure. Where the published program is not fully known its spelling was chosen by the published flop "
    "count and traffic, as the notes say."
)


class AccuracyCase(Record):
    """One published time and what the model says.

    Attributes:
        group: class of program the error is reported by.
        published_us: device time somebody measured; ``source`` says who and how.
        estimate_us: by the schedule model; ``interval_us`` around it.
        leave_one_out_us: the same with the constants chosen without this case.
        note: why it is off, where it is and the cause was found.
    """

    task: str
    group: str
    published_us: float
    source: str
    estimate_us: float
    interval_us: tuple[float, float]
    leave_one_out_us: float | None = None
    bound_by: str = "unknown"
    note: str = ""

    @property
    def error(self) -> float:
        """Signed relative error of the estimate."""
        return self.estimate_us / self.published_us - 1.0

    @property
    def inside(self) -> bool:
        """Whether the published time lies in the interval."""
        return self.interval_us[0] <= self.published_us <= self.interval_us[1]


class ErrorFigures(Record):
    """Errors over some cases: relative, absolute."""

    group: str
    cases: int
    median: float
    p90: float
    worst: float
    worst_task: str
    inside: int


class AccuracyReport(Record):
    """All figures of ``jaxbench accuracy``."""

    toolchain: str
    target: str
    cases: tuple[AccuracyCase, ...]
    overall: ErrorFigures
    leave_one_out: ErrorFigures | None
    groups: tuple[ErrorFigures, ...]
    spearman: float


class _StoredCases(Record):
    toolchain: str
    target: str
    cases: tuple[AccuracyCase, ...]


@cache
def _stored() -> _StoredCases:
    text = files("maxkernel_tools.profiling").joinpath("accuracy.json").read_text(encoding="utf-8")
    return _StoredCases.model_validate_json(text)


def stored_report() -> AccuracyReport:
    """Return the figures over the stored cases."""
    stored = _stored()
    return summarise(stored.cases, toolchain=stored.toolchain, target=stored.target)


def summarise(cases: Sequence[AccuracyCase], *, toolchain: str, target: str) -> AccuracyReport:
    """Return errors over all cases and by class, and how well the order is kept."""
    groups = [
        _figures(group, [case for case in cases if case.group == group])
        for group in dict.fromkeys(case.group for case in cases)
    ]
    alone = [case.model_copy(update={"estimate_us": case.leave_one_out_us}) for case in cases if case.leave_one_out_us]
    return AccuracyReport(
        toolchain=toolchain,
        target=target,
        cases=tuple(sorted(cases, key=lambda case: -abs(case.error))),
        overall=_figures("all", cases),
        leave_one_out=_figures("leave one out", alone) if len(alone) == len(cases) else None,
        groups=tuple(groups),
        spearman=_spearman([case.estimate_us for case in cases], [case.published_us for case in cases]),
    )


def _figures(group: str, cases: Sequence[AccuracyCase]) -> ErrorFigures:
    errors = np.array([abs(case.error) for case in cases])
    worst = int(np.argmax(errors))
    return ErrorFigures(
        group=group,
        cases=len(cases),
        median=float(np.median(errors)),
        p90=float(np.percentile(errors, 90)),
        worst=float(errors[worst]),
        worst_task=cases[worst].task,
        inside=sum(case.inside for case in cases),
    )


def _spearman(left: Sequence[float], right: Sequence[float]) -> float:
    first, second = (np.argsort(np.argsort(values)).astype(float) for values in (left, right))
    return float(np.corrcoef(first, second)[0, 1])


def render_markdown(report: AccuracyReport) -> str:
    """Return the tables of ``docs/accuracy.md``."""
    lines = [
        f"Toolchain: {report.toolchain}. Chip: {report.target}. Times in µs; errors are relative.",
        "",
        _METHOD,
        "",
        "| class | cases | median | p90 | worst | in interval |",
        "|---|---|---|---|---|---|",
    ]
    rows = [report.overall, *([report.leave_one_out] if report.leave_one_out else []), *report.groups]
    lines += [
        f"| {row.group} | {row.cases} | {row.median:.1%} | {row.p90:.1%} | {row.worst:.1%} ({row.worst_task}) "
        f"| {'-' if row is report.leave_one_out else f'{row.inside} of {row.cases}'} |"
        for row in rows
    ]
    lines += [
        "",
        f"Spearman rank correlation: {report.spearman:.3f}.",
        "",
        "| task | published | estimated | error | interval | bound by | note |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in report.cases:
        low, high = case.interval_us
        lines.append(
            f"| {case.task} | {case.published_us:.1f} | {case.estimate_us:.1f} | {case.error:+.1%} "
            f"| {low:.0f} to {high:.0f} | {case.bound_by} | {case.note} |"
        )
    return "\n".join(lines) + "\n"
