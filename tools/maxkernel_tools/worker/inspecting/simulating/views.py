"""Resolves an indexed reference (``ref.at[i].at[pl.ds(a, n)]``) to a box of the reference itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxkernel_tools.worker.inspecting.evaluating import UNKNOWN
from maxkernel_tools.worker.inspecting.simulating.regions import Box, whole

Scalar = Callable[[Any], Any]
"""Value of an atom or number: an integer, or UNKNOWN."""


@dataclass(frozen=True)
class Region:
    """What an access touches.

    Attributes:
        box: the smallest box around it; the whole reference where nothing is known.
        exact: it touches every element of the box and nothing else.
        known: the box is certain; where False the access may be anywhere inside it.
    """

    box: Box
    exact: bool
    known: bool


@dataclass
class _Dim:
    axis: int
    start: int
    size: int
    step: int


def resolve(shape: Sequence[int], transforms: Sequence[Any], scalar: Scalar) -> Region:
    """Follow a chain of indexers over a reference of ``shape``."""
    box = list(whole(shape))
    dims = [_Dim(axis, 0, extent, 1) for axis, extent in enumerate(shape)]
    exact = known = True
    for transform in transforms:
        indices = getattr(transform, "indices", None)
        if indices is None or len(indices) != len(dims):
            # Reshapes and bitcasts keep the elements but not the dimensions; the parts they see are not followed.
            return Region(tuple(box), exact=False, known=False)
        kept: list[_Dim] = []
        for dim, index in zip(dims, indices, strict=True):
            found = _one(dim, index, scalar)
            if found is None:
                exact = known = False
                if _is_slice(index):
                    kept.append(dim)
                continue
            start, size, step = found
            box[dim.axis] = (start, start + (max(size, 1) - 1) * step + 1 if size else start)
            exact = exact and step == 1
            if _is_slice(index):
                kept.append(_Dim(dim.axis, start, size, step))
        dims = kept
    return Region(tuple(box), exact=exact, known=known)


def _is_slice(index: Any) -> bool:
    return hasattr(index, "stride") and hasattr(index, "size") and hasattr(index, "start")


def _one(dim: _Dim, index: Any, scalar: Scalar) -> tuple[int, int, int] | None:
    """Start, size and step along the base dimension, or None where they depend on data."""
    if not _is_slice(index):
        value = _integer(scalar(index))
        return None if value is None else (dim.start + value * dim.step, 1, 1)
    start, size, stride = _integer(scalar(index.start)), _integer(scalar(index.size)), int(index.stride)
    if start is None or size is None:
        return None
    return dim.start + start * dim.step, size, dim.step * stride


def _integer(value: Any) -> int | None:
    if value is UNKNOWN or np.ndim(value) != 0:
        return None
    return int(value)
