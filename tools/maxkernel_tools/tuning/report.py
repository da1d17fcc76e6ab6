"""The table of every configuration as CSV: the artifact a person sorts and filters."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from maxkernel_tools.records.tuning import ConfigReport


def as_csv(table: Sequence[ConfigReport]) -> str:
    """Return one line per configuration: its parameters, what became of it and why."""
    names = list(dict.fromkeys(name for report in table for name in report.params))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [*names, "state", "time_us", "low_us", "high_us", "floor_us", "vmem_bytes", "tested", "stored", "reason"]
    )
    for report in table:
        low, high = report.interval_us or (None, None)
        figures = (report.time_us, low, high, report.floor_us)
        writer.writerow(
            [
                *(report.params.get(name, "") for name in names),
                report.state,
                *("" if value is None else f"{value:.3f}" for value in figures),
                report.vmem_bytes or "",
                report.tested or "",
                "yes" if report.cached else "no",
                report.reason,
            ]
        )
    return text.getvalue()
