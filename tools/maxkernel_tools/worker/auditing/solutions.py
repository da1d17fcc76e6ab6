"""Outputs a kernel could give without doing the work, made from the right ones; inputs it could take for granted.

Pure numpy. What each is called is part of the audit's table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from maxkernel_tools.records.tasks import TaskFacts, TaskInput

Array = np.ndarray[Any, Any]
Outputs = tuple[Array, ...]

_TAIL = 8  # a dropped tail is the last eighth, at least one


def trivial_outputs(right: Outputs, other: Outputs | None) -> Iterator[tuple[str, Outputs]]:
    """Yield name and outputs of each kernel that ignores all inputs, or copies parts of the right answer.

    Args:
        right: what is right for this draw, at the task's dtype.
        other: what is right for another draw: what a buffer may still hold. None where there is one draw only, so that
            a kernel may well hold its answer.
    """
    stale = right if other is None else other
    yield "zeros", tuple(np.zeros_like(array) for array in right)
    yield "constant", tuple(_filled(array, _mean(source)) for array, source in zip(right, stale, strict=True))
    if any(array.size > 1 for array in right):
        yield "mean", tuple(_filled(array, _mean(array)) for array in right)
    if any(_axis(array) is not None for array in right):
        yield "one-sample", tuple(_one_sample(array) for array in right)
    for which in ("first", "last"):
        if any(_axis(array, last=which == "last") is not None for array in right):
            yield f"dropped-tail-{which}-axis", tuple(_drop_tail(array, last=which == "last") for array in right)
    yield "stale-buffer", tuple(array.copy() for array in stale)


def substituted_inputs(
    facts: TaskFacts, inputs: Sequence[Array], other: Sequence[Array] | None
) -> Iterator[tuple[str, dict[int, Array]]]:
    """Yield name and substitutes, by index, of what a kernel that ignores one input would have computed with.

    Args:
        facts: roles of the inputs.
        inputs: the draw.
        other: another draw of the same shapes, or None where there is one only (then the input in reverse order).
    """
    for index, entry in enumerate(facts.inputs):
        array = inputs[index]
        swapped = array.ravel()[::-1].reshape(array.shape) if other is None else other[index]
        for name, substitute in _substitutes(entry, array, swapped):
            if not np.array_equal(substitute, array):
                yield f"ignored:{entry.name}={name}", {index: substitute}
    for dim in facts.tolerance.reduction_dims:
        place = _where(facts, dim)
        if place is None:
            continue
        index, axis = place
        kept = inputs[index].copy()
        extent = kept.shape[axis]
        if extent > 1:
            kept[_tail(kept.ndim, axis, extent)] = 0
            yield f"dropped-terms:{dim}", {index: kept}


def _substitutes(entry: TaskInput, array: Array, swapped: Array) -> Iterator[tuple[str, Array]]:
    if entry.role == "metadata":
        yield "other", swapped
    else:
        yield "zeros", np.zeros_like(array)
        yield ("ones", np.ones_like(array)) if entry.role == "affine" else ("other", swapped)
    if entry.assumed:
        yield entry.assumed, _assumed(entry.assumed, array)


def _assumed(kind: str, array: Array) -> Array:
    if kind == "arange":
        return np.arange(array.size).reshape(array.shape).astype(array.dtype)
    if kind == "largest":
        return np.full_like(array, array.max())
    if kind == "ones":
        return np.ones_like(array)
    if kind == "zeros":
        return np.zeros_like(array)
    even = np.full(array.size, int(array.sum()) // array.size)
    even[: int(array.sum()) % array.size] += 1
    return even.reshape(array.shape).astype(array.dtype)


def _where(facts: TaskFacts, dim: str) -> tuple[int, int] | None:
    for index, entry in enumerate(facts.inputs):
        if entry.role in ("data", "weight") and dim in entry.shape:
            return index, entry.shape.index(dim)
    return None


def _mean(array: Array) -> float:
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else 0.0


def _filled(array: Array, value: float) -> Array:
    return np.full(array.shape, value).astype(array.dtype)


def _axis(array: Array, *, last: bool = False) -> int | None:
    axes = [axis for axis, extent in enumerate(array.shape) if extent > 1]
    return (axes[-1] if last else axes[0]) if axes else None


def _one_sample(array: Array) -> Array:
    axis = _axis(array)
    if axis is None:
        return array.copy()
    return np.broadcast_to(array.take([0], axis=axis), array.shape).copy()


def _drop_tail(array: Array, *, last: bool) -> Array:
    axis = _axis(array, last=last)
    kept = array.copy()
    if axis is not None:
        kept[_tail(array.ndim, axis, array.shape[axis])] = 0
    return kept


def _tail(rank: int, axis: int, extent: int) -> tuple[slice, ...]:
    start = extent - max(1, extent // _TAIL)
    return tuple(slice(start, None) if position == axis else slice(None) for position in range(rank))


def named_shortcuts(names: Mapping[str, Any], inputs: Sequence[Array]) -> Iterator[tuple[str, Outputs]]:
    """Yield name and outputs of each shortcut a task's ``shortcuts.py`` defines in ``SHORTCUTS``."""
    for name, function in names.get("SHORTCUTS", {}).items():
        result = function(*inputs)
        yield f"shortcut:{name}", tuple(result) if isinstance(result, tuple) else (result,)
