"""HBM traffic per operand of Pallas calls, exact from grid and index maps (facts), never modelled."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from maxkernel_tools.records.arrays import DTYPES, ArraySpec
from maxkernel_tools.records.profiles import OperandTraffic

_BLOCKED = {"vmem", "smem"}


def operand_traffic(calls: Sequence[dict[str, Any]]) -> tuple[OperandTraffic, ...]:
    """Return one row per operand that is moved block by block."""
    rows: list[OperandTraffic] = []
    for call in calls:
        prefix = f"{call.get('name', 'kernel')}." if len(calls) > 1 else ""
        for operand in call.get("operands", ()):
            row = _row(prefix, operand)
            if row is not None:
                rows.append(row)
    return tuple(rows)


def _row(prefix: str, operand: dict[str, Any]) -> OperandTraffic | None:
    fetches, moved = operand.get("fetches"), operand.get("fetch_bytes")
    if operand.get("kind") not in {"in", "out"} or fetches is None or moved is None:
        return None
    spec = ArraySpec.parse(operand["array"])
    block: list[int] = operand.get("block") or list(spec.shape)
    return OperandTraffic(
        operand=prefix + str(operand["name"]),
        direction="hbm-to-vmem" if operand["kind"] == "in" else "vmem-to-hbm",
        block_bytes=(prod(block) * DTYPES[spec.dtype][1] + 7) // 8,
        fetches=int(fetches),
        hbm_bytes=int(moved),
        refetch_factor=moved / spec.nbytes if spec.nbytes else 0.0,
    )
