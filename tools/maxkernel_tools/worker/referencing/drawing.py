"""The general policy by which inputs are drawn where a task has no policy of its own.

Floating inputs are drawn in float32, zero-mean, and cast; a rank-2 argument whose rows match the columns of an
earlier one is taken for a weight and scaled by 1/sqrt(fan in), so that outputs keep unit spread; 8-bit integers are
data and use their whole range; wider integers may be indices and stay below every extent. Nothing is constant, zero
or one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from maxkernel_tools.records.arrays import ArraySpec

Array = np.ndarray[Any, Any]


def numpy_dtype(spec: ArraySpec) -> np.dtype[Any]:
    """Return the numpy (or ml_dtypes) dtype of ``spec``."""
    return np.dtype(getattr(ml_dtypes, spec.numpy_name, spec.numpy_name))


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` is a float, ml_dtypes' included."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def draw(rng: np.random.Generator, specs: Sequence[ArraySpec]) -> tuple[Array, ...]:
    """Return one array per spec."""
    bound = _safe_bound(specs)
    return tuple(_draw_one(rng, specs, index, bound) for index in range(len(specs)))


def scaled(array: Array, factor: float) -> Array:
    """Return ``array`` times ``factor`` where it is floating, rounded once to its own dtype."""
    if not is_floating(array.dtype):
        return array
    return (array.astype(np.float32) * np.float32(factor)).astype(array.dtype)


def _draw_one(rng: np.random.Generator, specs: Sequence[ArraySpec], index: int, bound: int) -> Array:
    spec = specs[index]
    dtype = numpy_dtype(spec)
    if dtype.kind == "b":
        return rng.random(spec.shape) < 0.5
    if is_floating(dtype):
        values = rng.standard_normal(spec.shape, dtype=np.float32)
        return (values * np.float32(_weight_scale(specs, index))).astype(dtype)
    if spec.dtype in ("s4", "u4", "s8", "u8"):
        low, high = _range(spec.dtype)
        return rng.integers(low, high, spec.shape, endpoint=True).astype(dtype)
    return rng.integers(0, bound, spec.shape).astype(dtype)


def _weight_scale(specs: Sequence[ArraySpec], index: int) -> float:
    shape = specs[index].shape
    if index == 0 or len(shape) < 2:
        return 1.0
    fan_in = shape[-2]
    feeds = any(len(earlier.shape) >= 2 and earlier.shape[-1] == fan_in for earlier in specs[:index])
    same = any(earlier.shape == shape for earlier in specs[:index])
    return 1.0 / float(np.sqrt(fan_in)) if feeds and not same else 1.0


def _range(dtype: str) -> tuple[int, int]:
    bits = int(dtype[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype[0] == "s" else (0, (1 << bits) - 1)


def _safe_bound(specs: Sequence[ArraySpec]) -> int:
    extents = [extent for spec in specs for extent in spec.shape if extent > 1]
    return max(2, min(extents, default=16))
