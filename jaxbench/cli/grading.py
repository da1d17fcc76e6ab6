"""``jaxbench score``: scores from a results file."""

from __future__ import annotations

import argparse
from pathlib import Path

from jaxbench.cli.listing import chosen_tasks
from jaxbench.cli.printing import percent, print_json, print_lines, print_table
from jaxbench.results import read_rows
from jaxbench.scoring import Score, score


def print_score(options: argparse.Namespace) -> int:
    """Print correct, fast_1 and geometric means, with and without labelled tasks; 1 when no kernel is graded."""
    rows = read_rows(Path(options.results))
    splits = {row.split for row in rows if row.subject == "kernel"}
    card = score(rows, sum(task.facts.split in splits for task in chosen_tasks()))
    if options.json:
        print_json({"ok": card.all.tasks > 0, **card.model_dump(mode="json")})
        return 0 if card.all.tasks else 1
    if not card.all.tasks:
        print_lines(
            "No graded kernel in these results; grade one with `jaxbench evaluate ID --kernel FILE --output DIR`."
        )
        return 1
    columns = ("tasks", "graded", "correct", "fast_1", "geomean raw", "geomean floored", "times")
    named = (("all", card.all), ("without labelled", card.unlabelled), ("labelled only", card.labelled))
    print_table(columns, [(name, *_cells(part)) for name, part in named])
    if card.missing:
        print_lines(f"{card.missing} tasks of the same splits have no graded kernel.")
    if "schedule-model" in card.all.time_sources:
        print_lines("Speed-ups rest on estimates of the schedule model, not on measurements.")
    return 0


def _cells(part: Score) -> tuple[str, ...]:
    return (
        str(part.tasks),
        f"{part.correct} ({percent(part.correct_share)})",
        percent(part.fast_1),
        "" if part.geomean_raw is None else f"{part.geomean_raw:.3f}",
        f"{part.geomean_floored:.3f}" if part.tasks else "",
        " ".join(part.time_sources),
    )
