"""``jaxbench accuracy``: the schedule model against published device times, as table, page and plot."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from jaxbench.cli.printing import percent, print_json, print_lines, print_table
from maxkernel_lab.locks import write_atomically
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.profiling.accuracy import AccuracyReport, ErrorFigures, render_markdown, stored_report
from maxkernel_tools.profiling.accuracy_plot import accuracy_svg

BEGIN: Final = "<!-- accuracy -->"
END: Final = "<!-- /accuracy -->"


def accuracy(options: argparse.Namespace) -> int:
    """Print how close the model comes; with ``--page`` write the tables between the page's markers, and the plot."""
    report = stored_report()
    if options.page:
        _write(Path(options.page), report)
    if options.json:
        print_json({"ok": True, **report.model_dump(mode="json")})
        return 0
    print_table(("class", "cases", "median", "p90", "worst", "in interval"), [_figures(row) for row in _rows(report)])
    print_lines("")
    print_table(
        ("task", "published µs", "estimated µs", "error", "interval", "note"),
        [
            (
                case.task,
                f"{case.published_us:.1f}",
                f"{case.estimate_us:.1f}",
                f"{case.error:+.1%}",
                f"{case.interval_us[0]:.0f} to {case.interval_us[1]:.0f}",
                case.note,
            )
            for case in report.cases
        ],
    )
    print_lines(
        "",
        f"Spearman rank correlation {report.spearman:.3f}. Estimates of the schedule model ({report.toolchain}, "
        f"{report.target}) against times others published; nothing was measured here.",
    )
    return 0


def page_with(text: str, report: AccuracyReport) -> str:
    """Return a page's text with what lies between its markers made anew.

    Raises:
        MisuseError: it has no markers.
    """
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise MisuseError(
            "The page has no place for the tables.",
            allowed=f"a Markdown file with the lines {BEGIN} and {END}.",
            action="Add them where the tables belong.",
        )
    return f"{head}{BEGIN}\n{render_markdown(report)}{END}{tail}"


def _write(page: Path, report: AccuracyReport) -> None:
    try:
        text = page_with(page.read_text(encoding="utf-8"), report)
        write_atomically(page, text.encode())
        write_atomically(page.with_suffix(".svg"), accuracy_svg(report.cases).encode())
    except OSError as error:
        raise MisuseError(
            f"{page} cannot be written: {error}.",
            allowed="a Markdown file you may write.",
            action="Name such a file.",
        ) from None


def _rows(report: AccuracyReport) -> list[ErrorFigures]:
    return [report.overall, *([report.leave_one_out] if report.leave_one_out else []), *report.groups]


def _figures(row: ErrorFigures) -> tuple[str, ...]:
    inside = "" if row.group == "leave one out" else f"{row.inside} of {row.cases}"
    worst = f"{percent(row.worst)} {row.worst_task}"
    return (row.group, str(row.cases), f"{row.median:.1%}", f"{row.p90:.1%}", worst, inside)
