"""Which grid step writes a block of an output: said only where grid and blocks leave one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def step_text(call: Mapping[str, Any], output: Mapping[str, Any], index: Sequence[int], shape: Sequence[int]) -> str:
    """Return ``grid step (1, 0, *)`` for the element at ``index`` of an output, or nothing.

    Args:
        call: facts of the kernel call that writes the output.
        output: facts of the output operand: its block, and which grid axes its index map depends on.
        index: the element.
        shape: of the whole output.

    Returns:
        A step with ``*`` on axes the output does not depend on; empty where two axes could be meant.
    """
    grid: list[int | None] = list(call.get("grid") or [])
    index_map: Mapping[str, Any] = output.get("index_map") or {}
    axes: list[int] = list(index_map.get("depends_on") or [])
    block: list[int] = list(output.get("block") or [])
    if len(block) != len(shape) or not all(size > 0 for size in block) or not axes or max(axes) >= len(grid):
        return ""
    counts = [-(-extent // size) for extent, size in zip(shape, block, strict=True)]
    wanted = [(count, index[dim] // block[dim]) for dim, count in enumerate(counts) if count > 1]
    several = [axis for axis in axes if grid[axis] != 1]
    extents = [grid[axis] for axis in several]
    if sorted(count for count, _ in wanted) != sorted(extent or 0 for extent in extents):
        return ""
    if len(set(extents)) != len(extents):
        return ""  # two axes of one length: which of them cuts which dim is not known here
    position = dict(wanted)
    step = ["*"] * len(grid)
    for axis in axes:
        step[axis] = str(position.get(grid[axis] or 0, 0))
    return f"grid step ({', '.join(step)})"
