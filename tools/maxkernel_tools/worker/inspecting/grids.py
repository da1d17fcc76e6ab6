"""Follows a block's index map over the grid: how often its block changes, what it moves, where it leaves the array.

Pallas visits the grid with the last axis fastest and transfers a block when its index changes, so the counts are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from maxkernel_tools.worker.inspecting.evaluating import UNKNOWN, evaluate, grid_axes, too_large


@dataclass(frozen=True)
class Dim:
    """One dimension of a block.

    Attributes:
        size: extent of the block along it (1 where it is squeezed away).
        extent: extent of the array.
        element: the index map gives the first element, not the block number.
        squeezed: the kernel does not see the dimension.
        bounded: its size may vary from step to step.
        padding: elements before and after the array that may be addressed.
    """

    size: int
    extent: int
    element: bool = False
    squeezed: bool = False
    bounded: bool = False
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Visits:
    """What a block does over the grid; None where its index map depends on data."""

    fetches: int | None
    elements: int | None
    depends_on: tuple[int, ...]
    constant: bool
    indices: tuple[Any, ...] | None


def visits(jaxpr: Any, consts: Sequence[Any], grid: Sequence[int], dims: Sequence[Dim]) -> Visits:
    """Evaluate an index map over the whole grid.

    Args:
        jaxpr: open jaxpr of the index map; its first arguments are the grid indices, the rest unknown.
        consts: its constants.
        grid: static extents.
        dims: the block's dimensions.
    """
    axes = grid_axes(grid)
    arguments = [axes[axis] if axis < len(grid) else UNKNOWN for axis in range(len(jaxpr.invars))]
    if not dims:
        return Visits(fetches=1, elements=1, depends_on=(), constant=True, indices=())
    values = evaluate(jaxpr, consts, arguments, axes)
    if len(values) != len(dims) or any(value is UNKNOWN for value in values):
        used = tuple(axis for axis in range(len(grid)) if uses(jaxpr, axis))
        return Visits(fetches=None, elements=None, depends_on=used, constant=False, indices=None)
    arrays = tuple(_over_grid(value, len(grid)) for value in values)
    depends = tuple(
        axis for axis in range(len(grid)) if any(array.shape[axis] > 1 and _varies(array, axis) for array in arrays)
    )
    if prod(grid) == 0:
        return Visits(fetches=0, elements=0, depends_on=depends, constant=not depends, indices=arrays)
    fetches, elements = _count(arrays, grid, dims, depends)
    return Visits(fetches=fetches, elements=elements, depends_on=depends, constant=not depends, indices=arrays)


def starts(indices: Sequence[Any], dims: Sequence[Dim]) -> list[Any]:
    """Return the first element of the block along each dimension, over the grid."""
    return [
        index - dim.padding[0] if dim.element else index * dim.size for index, dim in zip(indices, dims, strict=True)
    ]


def uses(jaxpr: Any, axis: int) -> bool:
    """Whether an index map reads its argument ``axis`` at all."""
    if axis >= len(jaxpr.invars):
        return False
    variable = jaxpr.invars[axis]
    return any(variable is atom for eqn in jaxpr.eqns for atom in eqn.invars) or any(
        variable is atom for atom in jaxpr.outvars
    )


def _over_grid(value: Any, rank: int) -> Any:
    array = np.asarray(value)
    return array if array.ndim == rank else array.reshape((1,) * rank)


def _varies(array: Any, axis: int) -> bool:
    first = np.take(array, [0], axis=axis)
    return bool(np.any(array != first))


def _count(
    arrays: tuple[Any, ...], grid: Sequence[int], dims: Sequence[Dim], depends: tuple[int, ...]
) -> tuple[int | None, int | None]:
    """Transfers over the grid and the array elements they move, blocks at the edge counted by what lies inside."""
    if not depends:
        return 1, int(_inside(tuple(array.reshape(-1)[0] for array in arrays), dims))
    # Axes before the first one that matters repeat the inner sequence; axes after the last one change nothing.
    first, last = depends[0], depends[-1]
    repeats = prod(grid[:first])
    inner = list(grid[first : last + 1])
    if too_large(inner):
        return None, None
    flat = []
    for array in arrays:
        index = tuple(0 if axis < first or axis > last else slice(None) for axis in range(len(grid)))
        flat.append(np.broadcast_to(array[index], inner).reshape(-1))
    changed = np.zeros(flat[0].shape, dtype=bool)
    for column in flat:
        changed[1:] |= column[1:] != column[:-1]
    moved = _inside(tuple(flat), dims)
    wraps = any(bool(column[0] != column[-1]) for column in flat)
    starts_new = changed.copy()
    starts_new[0] = wraps
    per_repeat, per_repeat_elements = int(starts_new.sum()), int((moved * starts_new).sum())
    changed[0] = True
    return (
        int(changed.sum()) + (repeats - 1) * per_repeat,
        int((moved * changed).sum()) + (repeats - 1) * per_repeat_elements,
    )


def _inside(indices: Sequence[Any], dims: Sequence[Dim]) -> Any:
    total: Any = np.int64(1)
    for start, dim in zip(starts(indices, dims), dims, strict=True):
        low = np.maximum(start, 0)
        high = np.minimum(start + dim.size, dim.extent)
        total = total * np.maximum(high - low, 0)
    return total
