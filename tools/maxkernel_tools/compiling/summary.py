"""One or two sentences a person would want first."""

from __future__ import annotations

from collections.abc import Sequence

from maxkernel_tools.diagnosing.wording import mib
from maxkernel_tools.records.compiles import TargetReport
from maxkernel_tools.records.findings import Finding, Severity


def summary_line(reports: Sequence[TargetReport], findings: Sequence[Finding]) -> str:
    """Say on which targets it compiles, what stopped the others, and what else is worth knowing."""
    good = [report for report in reports if report.ok]
    bad = [report for report in reports if not report.ok]
    parts: list[str] = []
    if good:
        parts.append("Compiles for " + ", ".join(_good(report) for report in good) + ".")
    if bad:
        first = next((f for report in bad for f in report.findings if f.severity is Severity.ERROR), None)
        names = ", ".join(_named(report) for report in bad)
        if first is None:
            parts.append(f"Not for {names}.")
        else:
            where = f" at line {first.line}" if first.line is not None else ""
            parts.append(
                f"{'Not' if good else 'Does not pass'} for {names}: {first.code.value}{where}. {first.message}"
            )
    warnings = [finding for finding in findings if finding.severity is Severity.WARNING]
    if warnings:
        lines = ", ".join(f"{finding.code.value}{_at(finding)}" for finding in warnings[:3])
        parts.append(f"{len(warnings)} warning{'s' if len(warnings) > 1 else ''}: {lines}.")
    return " ".join(parts)


def _at(finding: Finding) -> str:
    return f" (line {finding.line})" if finding.line is not None else ""


def _good(report: TargetReport) -> str:
    details: list[str] = []
    if report.vmem_bytes and report.vmem_limit_bytes:
        details.append(f"VMEM {mib(report.vmem_bytes)} of {mib(report.vmem_limit_bytes)}")
    if report.estimated_us is not None:
        details.append(f"estimated {report.estimated_us:.1f} µs by the {report.estimate_source}")
    return _named(report) + (f" ({', '.join(details)})" if details else "")


def _named(report: TargetReport) -> str:
    return report.target.value + (f" with {report.toolchain_name}" if report.toolchain_name != "default" else "")
