"""Reads xprof's ``hlo_stats`` table (JSON): totals per op, no samples. Such a profile is listed, never significant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.traces.building import with_flops
from maxkernel_tools.traces.names import base_name, is_pallas
from maxkernel_tools.traces.profile import Device, Op
from maxkernel_tools.traces.raw import RawCapture

_NO_SAMPLES = "a table of totals: no samples, no idle time"
_NEEDED = ("program_id", "category", "hlo_op_name", "occurrences", "total_time", "total_self_time")


def is_table(content: object) -> bool:
    """Whether JSON is a table of xprof."""
    return isinstance(content, dict) and {"cols", "rows"} <= cast("dict[str, Any]", content).keys()


def read_hlo_stats(path: Path, content: object, device: Device) -> RawCapture:
    """Read the table; the device is told by the caller, since the table does not name it.

    Raises:
        MisuseError: columns are missing.
    """
    try:
        return RawCapture("hlo-stats", [], device, table=_ops(path, content, device), warnings=[_NO_SAMPLES])
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise MisuseError(
            f"The table {path.name} cannot be read: {error!r}."[:300],
            allowed="xprof's hlo_stats as JSON.",
            action="Export the table again.",
        ) from error


def _ops(path: Path, content: object, device: Device) -> list[Op]:
    table = cast("dict[str, Any]", content)
    columns = [str(column.get("id", "")) for column in table["cols"]]
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        raise MisuseError(
            f"The table {path.name} lacks the columns {', '.join(missing)}.",
            allowed="xprof's hlo_stats as JSON.",
            action="Export the table again.",
        )
    ops: list[Op] = []
    for row in table["rows"]:
        cells = [cell.get("v") if cell else None for cell in row["c"]]
        ops.append(_op(dict(zip(columns, cells, strict=False)), device))
    return ops


def _op(row: dict[str, Any], device: Device) -> Op:
    name, category = str(row["hlo_op_name"]), str(row["category"])
    scope, hlo = str(row.get("tf_op_name") or "").rstrip(":"), str(row.get("hlo_op_expression") or "")
    calls, total_ps = int(row["occurrences"]), round(float(row["total_time"]) * 1e6)
    # A rate in Gflop/s; flops of a call follow from it and the total time.
    rate = float(row.get("model_flop_rate") or 0.0)
    op = Op(
        module=str(row["program_id"]),
        program_id=str(row["program_id"]),
        core=0,
        name=name,
        base=base_name(name),
        scope=scope,
        category=category,
        hlo=hlo,
        shape="",
        source=str(row.get("source_info") or ""),
        calls=calls,
        self_ps=round(float(row["total_self_time"]) * 1e6),
        total_ps=total_ps,
        bound_by=str(row.get("bound_by") or ""),
        is_pallas=is_pallas(category, scope, hlo),
    )
    flops = round(rate * 1e9 * total_ps / 1e12 / calls) if calls else 0
    return replace(with_flops(op, flops, device), bytes=None)
