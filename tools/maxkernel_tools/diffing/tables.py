"""The whole table of a diff as CSV and JSON. Owns how a row is flattened; decides nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Final, cast

from maxkernel_tools.records.diffs import DiffResult, DiffRow, ScheduleRow

# A spreadsheet takes a cell that starts with one of these for a formula; names in captures are not ours.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def rows_csv(rows: Sequence[DiffRow] | Sequence[ScheduleRow]) -> str:
    """Return one line per row under a header; lists are joined, intervals are two columns."""
    text = io.StringIO(newline="")
    flat = [_flat(row) for row in rows]
    model = type(rows[0]) if rows else DiffRow
    writer = csv.DictWriter(text, _columns(model), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def rows_json(result: DiffResult, rows: Sequence[DiffRow] | Sequence[ScheduleRow]) -> str:
    """Return the result's totals and every row."""
    head = result.model_dump(mode="json", exclude={"rows", "artifacts"})
    return json.dumps({**head, "rows": [row.model_dump(mode="json") for row in rows]}, ensure_ascii=False, indent=1)


def _columns(model: type[DiffRow | ScheduleRow]) -> list[str]:
    names: list[str] = []
    for name in model.model_fields:
        names.extend((f"{name}_low", f"{name}_high") if name.endswith("_interval_us") else (name,))
    return names


def _flat(row: DiffRow | ScheduleRow) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in row:
        if name.endswith("_interval_us"):
            low, high = value or (None, None)
            flat[f"{name}_low"], flat[f"{name}_high"] = low, high
        elif isinstance(value, tuple):
            flat[name] = _cell("; ".join(str(one) for one in cast("tuple[object, ...]", value)))
        else:
            flat[name] = _cell(value) if isinstance(value, str) else value
    return flat


def _cell(text: str) -> str:
    return "'" + text if text.startswith(_FORMULA) else text
