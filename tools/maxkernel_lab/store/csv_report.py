"""``results.csv``: one line per candidate run, written whole from the store, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Final

from maxkernel_lab.locks import write_atomically
from maxkernel_lab.store.runs import RunStore

COLUMNS: Final = (
    "task",
    "benchmark",
    "split",
    "mode",
    "run_id",
    "created",
    "label",
    "verdict",
    "target",
    "time_us",
    "time_source",
    "speedup",
    "params",
    "source_sha256",
)


def write_results_csv(store: RunStore, path: Path) -> int:
    """Replace ``path`` by the current results and return the number of lines below the header."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    rows = store.result_rows()
    for row in rows:
        writer.writerow({name: "" if row[name] is None else row[name] for name in COLUMNS})
    write_atomically(path, text.getvalue().encode())
    return len(rows)
