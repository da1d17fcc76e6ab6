"""Reads the compiler's own VMEM map (``*vmem_report.html``): what lies in VMEM per kernel, to the byte.

The page carries its data as one JSON object. Where a version prints something else the answer is None, never a guess.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

_DATA = re.compile(r"const\s+DATA\s*=\s*(?=\{)")
_PATTERN: Final = "*vmem_report.html*"
_WINDOW = re.compile(r"(input|output) window allocation for operator (?:input|output) (\d+)")
Use = Literal["window", "scratch", "spill", "other"]
_TOP_LEVEL = "<top-inlining-caller>"


@dataclass(frozen=True)
class Allocation:
    """One allocation: its size with padding, and what it is for in the compiler's words."""

    op: str
    bytes: int
    padding: int
    tag: str

    @property
    def use(self) -> Use:
        """What it is for; ``other`` where the compiler's words are new."""
        if self.operand is not None:
            return "window"
        if self.tag.startswith(("scratch operand", "scoped memory")):
            return "scratch"
        return "spill" if self.tag == "SPILL" else "other"

    @property
    def operand(self) -> str | None:
        """``in0`` or ``out0`` where it is a window."""
        match = _WINDOW.search(self.tag)
        return None if match is None else f"{'in' if match.group(1) == 'input' else 'out'}{match.group(2)}"


@dataclass(frozen=True)
class VmemMap:
    """All allocations the compiler reports, and the capacity it counted with."""

    capacity_bytes: int
    allocations: tuple[Allocation, ...]

    def used_bytes(self, use: Use | None = None) -> int:
        """The largest amount any one op needs, in all or for one use."""
        totals: dict[str, int] = {}
        for allocation in self.allocations:
            if use in (None, allocation.use):
                totals[allocation.op] = totals.get(allocation.op, 0) + allocation.bytes
        return max(totals.values(), default=0)

    def as_text(self) -> str:
        """The map as lines: op, bytes, use, the compiler's own words."""
        rows = [f"{a.op}\t{a.bytes}\t{a.use}\t{a.tag}" for a in self.allocations]
        return "\n".join([f"capacity\t{self.capacity_bytes}", *rows]) + "\n"


def read_vmem_map(dump_dir: Path | None) -> VmemMap | None:
    """Read the map from a folder of dumps; None where there is none or its form is unknown."""
    if dump_dir is None:
        return None
    pages = sorted(dump_dir.glob(_PATTERN))
    if not pages:
        return None
    try:
        raw = pages[-1].read_bytes()
        text = gzip.decompress(raw).decode("utf-8", "replace") if pages[-1].suffix == ".gz" else raw.decode()
        match = _DATA.search(text)
        return None if match is None else _parse(json.JSONDecoder().raw_decode(text, match.end())[0])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _parse(data: dict[str, Any]) -> VmemMap:
    found: list[Allocation] = []
    # Every level is null, not empty, where the program has nothing in VMEM.
    per_op = cast("dict[str, dict[str, Any]]", data["hlo_breakdowns"] or {})
    for op, breakdown in per_op.items():
        if op == _TOP_LEVEL and len(per_op) > 1:
            continue
        for block in breakdown["blocks"] or ():
            found.extend(
                Allocation(
                    op=op,
                    bytes=int(entry["size"]),
                    padding=int(entry.get("padding", 0)),
                    tag=str(entry.get("tag", "")),
                )
                for entry in block["allocations"] or ()
            )
    return VmemMap(capacity_bytes=int(data["global_info"]["vmem_capacity"]), allocations=tuple(found))
