"""Names what toolchains do not agree on: who compiles, which findings, how much VMEM, what estimated time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from maxkernel_tools.diagnosing.wording import mib
from maxkernel_tools.records.compiles import TargetReport
from maxkernel_tools.records.findings import Finding, Severity

_WORTH_NAMING: Final = 0.02
"""Relative change of a figure below which two toolchains agree."""


def differences(reports: Sequence[TargetReport]) -> tuple[str, ...]:
    """Return one sentence per difference between toolchains on the same target; who compiles comes first."""
    first: list[str] = []
    others: list[str] = []
    for target in dict.fromkeys(report.target for report in reports):
        group = [report for report in reports if report.target is target]
        if len(group) < 2:
            continue
        if len({report.ok for report in group}) == 2:
            first.append(f"{target.value}: {_who_compiles(group)}")
        found = {report.toolchain_name: _codes(report) for report in group if report.ok}
        for code in sorted({code for codes in found.values() for code in codes}):
            with_it = [name for name, codes in found.items() if code in codes]
            if len(with_it) < len(found):
                others.append(f"{target.value}: {code} only with {', '.join(with_it)}.")
        others += _figures(group, "VMEM", lambda report: report.vmem_bytes, lambda value: mib(round(value)))
        others += _figures(group, "estimated time", lambda report: report.estimated_us, lambda value: f"{value:.4g} µs")
    return (*first, *others)


def _name(report: TargetReport) -> str:
    return f"{report.toolchain_name} ({report.toolchain})" if report.toolchain else report.toolchain_name


def _who_compiles(group: Sequence[TargetReport]) -> str:
    good = ", ".join(_name(report) for report in group if report.ok)
    bad = "; ".join(f"{_name(report)}: {_why(report.findings)}" for report in group if not report.ok)
    return f"compiles with {good}, not with {bad}."


def _why(findings: Sequence[Finding]) -> str:
    error = next((finding for finding in findings if finding.severity is Severity.ERROR), None)
    if error is None:
        return "no answer"
    return error.code.value + (f" at line {error.line}" if error.line is not None else "")


def _codes(report: TargetReport) -> set[str]:
    return {finding.code.value for finding in report.findings if finding.severity is not Severity.NOTE}


def _figures(
    group: Sequence[TargetReport],
    what: str,
    read: Callable[[TargetReport], float | None],
    write: Callable[[float], str],
) -> list[str]:
    values = {report.toolchain_name: value for report in group if (value := read(report)) is not None}
    if len(values) < 2 or max(values.values()) - min(values.values()) <= _WORTH_NAMING * max(values.values()):
        return []
    listed = ", ".join(f"{write(value)} with {name}" for name, value in values.items())
    return [f"{group[0].target.value}: {what} {listed}."]
