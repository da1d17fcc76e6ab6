"""Tables and progress for a person, JSON for a program. Progress goes to stderr, the answer to stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

_PIPED_COLUMNS: Final = 160

Advance = Callable[[str, int], None]
"""``advance(message, steps)``: say what is going on, and how many tasks are done with it."""


def print_json(document: Any) -> None:
    """Print ``document`` as JSON, alone on standard output."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")


def print_lines(*lines: str) -> None:
    """Print plain text."""
    console = _console()
    for line in lines:
        console.print(escape(line))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without borders."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for position, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=position == 0)
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    _console().print(table)


@contextmanager
def progress_bar(total: int, *, quiet: bool = False) -> Generator[Advance]:
    """Show how far long work is: a bar on a terminal, one line per finished task elsewhere."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        done = 0

        def note(message: str, steps: int) -> None:
            nonlocal done
            done += steps
            if steps and not quiet:
                sys.stderr.write(f"[{done}/{total}] {message}\n")
                sys.stderr.flush()

        yield note
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as bar:
        line = bar.add_task("starting", total=total)

        def advance(message: str, steps: int) -> None:
            bar.update(line, advance=steps, description=escape(message))

        yield advance


def microseconds(value: float | None) -> str:
    """Return a time as text."""
    return "" if value is None else f"{value:,.1f} µs"


def percent(value: float | None) -> str:
    """Return a share as text."""
    return "" if value is None else f"{value:.0%}"


def _console() -> Console:
    console = Console(soft_wrap=True, highlight=False)
    # Piped into a file or a pager: a table is not squeezed into the width of no terminal.
    return console if console.is_terminal else Console(soft_wrap=True, highlight=False, width=_PIPED_COLUMNS)
