"""Progress and the final table in a shell. Progress goes to stderr; the table, or the JSON result, to stdout."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from maxkernel_orchestrators.reporting.outcome import TIME_WORDS, OptimizationResult, SideTime

STAGES: Final = ("read", "plan", "implement", "compile", "test", "tune", "profile", "verify", "export")


class Display:
    """Shows a run while it goes on: live on a terminal, a line per change elsewhere.

    Args:
        title: what is being optimised, where.
        enabled: False keeps it silent, as for a job nobody watches.
    """

    def __init__(self, title: str, *, enabled: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._title, self._enabled = title, enabled
        self._began = time.monotonic()
        self._stage, self._message, self._detail, self._best = "start", "", "", ""
        self._live: Live | None = None
        self._said = ""
        self._spinner = Spinner("dots")

    def __enter__(self) -> Display:
        """Start drawing."""
        if self._enabled and self._console.is_terminal:
            self._live = Live(get_renderable=self._drawn, console=self._console, refresh_per_second=8, transient=True)
            self._live.start()
        elif self._enabled:
            self._console.print(self._title)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing and leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()

    def stage(self, stage: str, message: str) -> None:
        """Say what is being done now."""
        self._stage, self._message, self._detail = stage, message, ""
        self._redraw(f"[{time.monotonic() - self._began:4.0f} s] {stage}: {message}")

    def detail(self, message: str) -> None:
        """Say how far the current call is."""
        self._detail = message
        self._redraw("")

    def best(self, words: str) -> None:
        """Say what the best verified kernel is now."""
        self._best = words
        self._redraw(f"       best so far: {words}")

    def _redraw(self, line: str) -> None:
        if self._live is None and self._enabled and line and line != self._said:
            self._said = line
            self._console.print(line, markup=False)

    def _drawn(self) -> Group:
        position = STAGES.index(self._stage) if self._stage in STAGES else 0
        steps = Text()
        for index, stage in enumerate(STAGES):
            style = "bold" if index == position else "dim" if index > position else ""
            steps.append(f"{stage}  ", style=style)
        elapsed = time.monotonic() - self._began
        now = f" {self._message}" + (f"  ({self._detail})" if self._detail else "")
        self._spinner.update(text=Text(now))
        parts: list[Text | Spinner] = [
            Text(f"{self._title}   {elapsed:.0f} s", style="bold"),
            steps,
            self._spinner,
        ]
        if self._best:
            parts.append(Text(f"best so far: {self._best}", style="green"))
        return Group(*parts)


def show_result(outcome: OptimizationResult) -> None:
    """Print the final table to stdout."""
    # Off a terminal there is no width to fit: a path that is cut cannot be copied.
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 140)
    table = Table(title=f"{outcome.task} on {outcome.target}", title_justify="left")
    for heading in ("", "time", "where it comes from", "bound by", "of roofline"):
        table.add_column(heading, overflow="fold")
    for name, side in (("XLA's version", outcome.reference), ("ours", outcome.ours)):
        if side is not None:
            table.add_row(name, *_cells(side))
    if outcome.ours is not None:
        console.print(table)
    console.print(outcome.summary, markup=False, soft_wrap=True)
    for line in _facts(outcome):
        console.print(line, markup=False, soft_wrap=True)


def _cells(side: SideTime) -> tuple[str, str, str, str]:
    interval = f" [{side.interval_us[0]:.0f} to {side.interval_us[1]:.0f}]" if side.interval_us else ""
    return (
        f"{side.time_us:.1f} µs{interval}" if side.time_us is not None else "",
        TIME_WORDS[side.time_source],
        side.bound_by,
        f"{side.roofline_fraction:.0%}" if side.roofline_fraction is not None else "",
    )


def _facts(outcome: OptimizationResult) -> list[str]:
    lines: list[str] = []
    if outcome.verdict != "none":
        checks = [
            name
            for name, on in (("races", outcome.races_checked), ("uninitialised reads", outcome.uninitialized_checked))
            if on
        ]
        lines.append(f"Verdict: {outcome.verdict} (interpret mode, not silicon; secret seeds: {outcome.seeds})")
        lines.append("Shapes:  " + "; ".join(dict.fromkeys(outcome.shapes)))
        if checks:
            lines.append("Checked: " + ", ".join(checks) + f"; compiles for {', '.join(outcome.compiles_for)}")
    if outcome.cost.exchanges:
        lines.append(f"Author:  {_spent(outcome)}")
    if outcome.kernel_path:
        lines.append(f"Kernel:  {outcome.kernel_path}")
    if outcome.report_path:
        lines.append(f"Report:  {outcome.report_path}")
    if outcome.run_id:
        lines.append(f"Record:  run {outcome.run_id}, job {outcome.job_id}")
    return lines


def _spent(outcome: OptimizationResult) -> str:
    cost = outcome.cost
    money = f"{cost.usd:.4f} USD" if cost.usd is not None else "its price is not known"
    faults = ", ".join(f"{kind} {count}" for kind, count in cost.faults.items())
    words = f"{cost.exchanges} exchanges, {cost.input_tokens} tokens in, {cost.output_tokens} out, {money}"
    return words + (f"; faults: {faults}" if faults else "")
