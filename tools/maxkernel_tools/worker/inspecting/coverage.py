"""What the grid and the index maps alone give away: blocks outside their array, outputs no step visits."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from maxkernel_tools.worker.inspecting.calls import Call, Operand
from maxkernel_tools.worker.inspecting.evaluating import too_large
from maxkernel_tools.worker.inspecting.grids import starts


def coverage(call: Call, whole_outputs: set[int]) -> list[dict[str, Any]]:
    """Return observations about blocks and grid.

    Args:
        call: the ``pallas_call``.
        whole_outputs: positions of outputs the program returns without slicing them.
    """
    grid = call.static_grid
    if grid is None:
        return []
    if 0 in grid:
        return [{"kind": "empty-grid", "axis": grid.index(0), "grid": list(grid)}]
    found: list[dict[str, Any]] = []
    for operand in call.operands:
        if operand.visits is None or operand.visits.indices is None or not operand.dims:
            continue
        if any(dim.bounded for dim in operand.dims):
            continue
        outside = _outside(operand, grid)
        if outside is not None:
            found.append(outside)
        elif operand.kind == "out":
            missed = _missed(operand, grid)
            if missed is not None:
                number = int(operand.name.removeprefix("out"))
                found.append({**missed, "returned_whole": number in whole_outputs, "aliased": _aliased(call, number)})
    return found


def ragged_dims(operand: Operand) -> dict[int, int]:
    """Return, per dimension whose last block hangs over the array's end, how many elements of that block are inside."""
    over = operand.visits
    if over is None or over.indices is None or not over.fetches:
        return {}
    found: dict[int, int] = {}
    for axis, (start, dim) in enumerate(zip(starts(over.indices, operand.dims), operand.dims, strict=True)):
        if dim.squeezed or dim.bounded:
            continue
        inside = dim.extent - np.asarray(start)
        partial = inside[(inside > 0) & (inside < dim.size)]
        if partial.size:
            found[axis] = int(partial.min())
    return found


def driving_axes(operand: Operand, axis: int) -> tuple[int, ...]:
    """Return the grid axes along which the block index of dimension ``axis`` changes."""
    over = operand.visits
    if over is None or over.indices is None:
        return ()
    array = np.asarray(over.indices[axis])
    return tuple(g for g in range(array.ndim) if array.shape[g] > 1 and bool(np.any(array != np.take(array, [0], g))))


def distinct_blocks(operand: Operand, grid: tuple[int, ...]) -> int | None:
    """Return how many different blocks of an operand the grid visits, where that can be counted quickly."""
    over = operand.visits
    if over is None or over.indices is None or over.fetches is None:
        return None
    inner = [grid[axis] if axis in over.depends_on else 1 for axis in range(len(grid))]
    if too_large(inner) or not over.indices:
        return 1 if not over.indices else None
    key = np.zeros(inner, dtype=np.int64)
    for array in over.indices:
        column = _shrunk(array, over.depends_on).astype(np.int64)
        key = key * (int(column.max()) - int(column.min()) + 1) + (column - int(column.min()))
    return int(np.unique(key).size)


def _shrunk(array: Any, depends_on: tuple[int, ...]) -> Any:
    return array[tuple(slice(None) if axis in depends_on else slice(0, 1) for axis in range(array.ndim))]


def _outside(operand: Operand, grid: tuple[int, ...]) -> dict[str, Any] | None:
    over = operand.visits
    if over is None or over.indices is None:
        return None
    for axis, (start, index, dim) in enumerate(
        zip(starts(over.indices, operand.dims), over.indices, operand.dims, strict=True)
    ):
        low, high = -dim.padding[0], dim.extent + dim.padding[1]
        bad = (np.asarray(start) >= high) | (np.asarray(start) + dim.size <= low) | (np.asarray(start) < low)
        if not bool(np.any(bad)):
            continue
        where = np.argwhere(bad)[0]
        last = (dim.extent - 1) // dim.size
        return {
            "kind": "block-outside",
            "operand": operand.name,
            "argument": operand.argument,
            "dim": axis,
            "index": int(np.asarray(index)[tuple(where)]),
            "start": int(np.asarray(start)[tuple(where)]),
            "extent": dim.extent,
            "size": dim.size,
            "last_index": dim.extent - dim.size if dim.element else last,
            "step": [int(where[a]) if a < len(where) else 0 for a in range(len(grid))],
        }
    return None


def _missed(operand: Operand, grid: tuple[int, ...]) -> dict[str, Any] | None:
    if any(dim.element for dim in operand.dims):
        return None
    needed = prod(-(-dim.extent // dim.size) for dim in operand.dims)
    seen = distinct_blocks(operand, grid)
    if seen is None or seen >= needed or operand.visits is None or operand.visits.indices is None:
        return None
    short: list[dict[str, int]] = []
    for axis, (index, dim) in enumerate(zip(operand.visits.indices, operand.dims, strict=True)):
        blocks, visited = -(-dim.extent // dim.size), int(np.unique(index).size)
        if visited < blocks:
            short.append({"dim": axis, "visited": visited, "blocks": blocks, "extent": dim.extent, "size": dim.size})
    return {
        "kind": "missed-output",
        "operand": operand.name,
        "argument": operand.argument,
        "visited": seen,
        "blocks": needed,
        "short": short,
    }


def _aliased(call: Call, number: int) -> bool:
    return number in call.aliases.values()
