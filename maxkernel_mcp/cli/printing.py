"""Results and progress for a person, with rich. Progress goes to stderr, so that stdout holds the answer alone."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from maxkernel_lab.rendering import as_text
from maxkernel_tools.context import Progress
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.diffs import DiffResult
from maxkernel_tools.records.findings import Finding, Severity
from maxkernel_tools.records.jobs import RunListResult
from maxkernel_tools.records.profiles import ProfileResult
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.records.tasks import TaskListResult
from maxkernel_tools.records.tuning import TuneResult
from maxkernel_tools.records.verdicts import TestResult

_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_PIPED_COLUMNS: Final = 160
_REASON: Final = 90
_COMMON: Final = frozenset({"ok", "state", "summary", "findings", "artifacts", "took_ms", "run_id", "job_id"})


@contextmanager
def shell_progress(*, enabled: bool) -> Generator[Progress]:
    """Show on the terminal what a call is doing, where there is one."""
    console = Console(stderr=True)
    if not enabled or not console.is_terminal:
        yield _silent
        return
    with console.status("starting") as status:

        async def report(done: float, total: float | None, message: str) -> None:
            share = f" {done:.0f}/{total:.0f}" if total else ""
            status.update(escape(f"{message}{share}"))

        yield report


async def _silent(done: float, total: float | None, message: str) -> None:
    """Report nothing: nobody watches."""


def print_result(result: ToolResult) -> None:
    """Print ``result`` for a person: the summary, a table of its own, findings, where the record is."""
    console = Console(soft_wrap=True, highlight=False)
    if not console.is_terminal:
        # Piped into a file or a pager: a table is not squeezed into the width of no terminal.
        console = Console(soft_wrap=True, highlight=False, width=_PIPED_COLUMNS)
    mark = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[yellow]…[/]"}[result.ok]
    console.print(f"{mark} {escape(result.summary)}")
    if isinstance(result, DiffResult):
        for note in result.parity:
            console.print(f"[yellow]·[/] {escape(note)}")
    table = _table(result)
    if table is not None:
        console.print(table)
    elif type(result) is not ToolResult:
        rest = {key: value for key, value in result.model_dump(mode="json").items() if key not in _COMMON}
        console.print(escape(as_text(rest)))
    for finding in result.findings:
        _print_finding(console, finding)
    if result.run_id:
        console.print(f"[dim]record: maxkernel runs show {result.run_id}[/]")
    if result.job_id:
        console.print(f"[dim]job: maxkernel jobs get {result.job_id}[/]")


def _print_finding(console: Console, finding: Finding) -> None:
    colour = _COLOURS[finding.severity]
    place = f"{finding.file or 'kernel.py'}:{finding.line}: " if finding.line else ""
    target = f" ({finding.target})" if finding.target else ""
    console.print(
        f"[{colour}]{finding.severity}[/] {escape(place)}{escape(finding.message)} [{finding.code}]{target}".replace(
            f"[{finding.code}]", escape(f"[{finding.code}]")
        )
    )
    if finding.source_line:
        console.print(f"    [dim]{escape(finding.source_line)}[/]")
    if finding.hint:
        console.print(f"    → {escape(finding.hint)}")


def _table(result: ToolResult) -> Table | None:
    if isinstance(result, CompileResult):
        return _compile_table(result)
    if isinstance(result, TestResult):
        return _test_table(result)
    if isinstance(result, ProfileResult):
        return _profile_table(result)
    if isinstance(result, TuneResult):
        return _tune_table(result)
    if isinstance(result, DiffResult):
        return _diff_table(result)
    if isinstance(result, TaskListResult):
        return _rows(
            ("id", "tier", "operator", "title", "labels"),
            [(line.id, line.tier, line.operator, line.title, ", ".join(line.labels)) for line in result.tasks],
        )
    if isinstance(result, RunListResult):
        return _rows(
            ("run", "created", "task", "verdict", "time", "source"),
            [
                (
                    run.run_id,
                    run.created[:19],
                    run.task or "",
                    run.verdict or "",
                    _us(run.time_us),
                    run.time_source or "",
                )
                for run in result.runs
            ],
        )
    return None


def _compile_table(result: CompileResult) -> Table:
    return _rows(
        ("target", "compiled", "VMEM", "limit", "HBM temp", "flops", "HBM bytes", "time", "source"),
        [
            (
                report.target.value,
                ("yes" if report.ok else "no") + (" (cached)" if report.cached else ""),
                _bytes(report.vmem_bytes),
                _bytes(report.vmem_limit_bytes),
                _bytes(report.hbm_temp_bytes),
                "" if report.flops is None else f"{report.flops:.3g}",
                _bytes(report.hbm_bytes),
                _us(report.estimated_us),
                report.estimate_source or "",
            )
            for report in result.targets
        ],
    )


def _test_table(result: TestResult) -> Table:
    return _rows(
        ("case", "dims", "dtype", "seed", "max error", "allowed", "passed"),
        [
            (
                case.name,
                " ".join(f"{name}={size}" for name, size in case.dims.items()) or " ".join(case.inputs),
                case.dtype,
                "" if case.seed is None else str(case.seed),
                "" if case.max_abs_err is None else f"{case.max_abs_err:.3g}",
                "" if case.allowed is None else f"{case.allowed:.3g}",
                "yes" if case.passed else "no",
            )
            for case in result.cases
        ],
    )


def _profile_table(result: ProfileResult) -> Table:
    rows = [("kernel", _us(result.time_us), result.time_source, result.bound_by, _percent(result.roofline_fraction))]
    if result.reference is not None:
        other = result.reference
        rows.append(
            ("reference", _us(other.time_us), other.time_source, other.bound_by, _percent(other.roofline_fraction))
        )
    return _rows(("", f"time on {result.target}", "source", "bound by", "of roofline"), rows)


def _tune_table(result: TuneResult) -> Table:
    rows = [
        (
            " ".join(f"{name}={value}" for name, value in report.params.items()),
            report.state,
            _us(report.time_us),
            _bytes(report.vmem_bytes),
            report.tested or "",
            report.reason if len(report.reason) <= _REASON else report.reason[: _REASON - 1] + "…",
        )
        for report in result.configurations
    ]
    return _rows(("configuration", "", f"time on {result.target}", "VMEM", "numerics", "why"), rows)


def _diff_table(result: DiffResult) -> Table:
    if result.schedule:
        parts = [
            (part.part, part.name, part.measure, _number(part.baseline), _number(part.candidate), f"{part.delta:+,.4g}")
            for part in result.schedule
            if part.delta
        ]
        return _rows(("", "part", "measure", "baseline", "candidate", "difference"), parts)
    rows = [
        (
            row.name,
            row.category,
            f"{row.delta_us:+,.3f} µs",
            _signed(row.mean_change),
            _us(row.baseline_us),
            _us(row.candidate_us),
            row.verdict,
        )
        for row in result.rows
    ]
    return _rows(("op", "category", "difference", "per call", "baseline", "candidate", "verdict"), rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2%}"


def _rows(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for position, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=position == 0)
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    return table


def _us(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f} µs"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _bytes(value: int | None) -> str:
    if value is None:
        return ""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value} B"
