"""Read the pattern of an error: sign, scale, transposition, stripe, tail, one block, all; with the likely cause."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_SAMPLES = 2_000_000


def describe_pattern(got: Array, want: Array, bad: Array, block: tuple[int, ...] = ()) -> str:
    """Say where ``got`` differs from ``want``, how, and what usually causes it.

    Args:
        got: the candidate's output, float64.
        want: the oracle, float64, same shape.
        bad: elements outside their allowance.
        block: the candidate's output block, empty where unknown.
    """
    first = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape)) if bad.shape else ()
    where = _where(bad, first, block)
    values = f"first at {list(first)}: got {_short(got[first])}, expected {_short(want[first])}"
    how = _how(got, want, bad)
    return "; ".join(part for part in (where, values, how) if part)


def _where(bad: Array, first: tuple[int, ...], block: tuple[int, ...]) -> str:
    fraction = float(bad.mean())
    if fraction > 0.98:
        return "all elements are wrong"
    if not bad.shape:
        return "the value is wrong"
    box = [_extent(bad, axis) for axis in range(bad.ndim)]
    text = f"{fraction:.1%} of elements are wrong"
    tail = _tail(bad, box, block)
    if tail:
        return f"{text}, {tail}"
    if len(block) == bad.ndim and all(size > 0 for size in block):
        blocks = {tuple(int(i) // size for i, size in zip(index, block, strict=True)) for index in _some(bad)}
        steps = [-(-extent // size) for extent, size in zip(bad.shape, block, strict=True)]
        total = int(np.prod(steps))
        if len(blocks) == 1 and total > 1:
            return f"{text}, all in block {list(next(iter(blocks)))} of {steps}"
        if len(blocks) < total:
            where = [index // size for index, size in zip(first, block, strict=True)]
            return f"{text}, in {len(blocks)} of {total} blocks, first in block {where} of {steps}"
    striped = [axis for axis in range(bad.ndim) if _is_stripe(bad, axis)]
    if striped:
        axis = striped[0]
        rows = np.flatnonzero(_any_but(bad, axis))
        return f"{text}: whole stripes at {_indices(rows)} of axis {axis}"
    bounded = [f"{low}..{high}" for low, high in box]
    return f"{text}, inside [{', '.join(bounded)}]"


def _tail(bad: Array, box: list[tuple[int, int]], block: tuple[int, ...]) -> str:
    for axis, (low, high) in enumerate(box):
        extent = bad.shape[axis]
        if low == 0 or high != extent - 1:
            continue
        size = block[axis] if axis < len(block) else 0
        if size and extent % size and low >= extent - extent % size:
            return (
                f"all in the ragged tail of axis {axis} (from {low}; {extent} is no multiple of the block's {size}): "
                "mask the tail or let the grid cover it with pl.cdiv"
            )
        if low >= extent - max(extent // 4, 1):
            return f"all in the tail of axis {axis}, from {low} of {extent}: the grid may stop short of it"
    return ""


def _how(got: Array, want: Array, bad: Array) -> str:
    wrong, right = got[bad], want[bad]
    if wrong.size > _SAMPLES:
        wrong, right = wrong[:_SAMPLES], right[:_SAMPLES]
    if np.isnan(wrong).any() and not np.isnan(right).all():
        share = float(np.isnan(wrong).mean())
        return f"{share:.0%} of them are NaN: memory nobody wrote was read, or a mask lets padding through"
    if not np.isfinite(wrong).all():
        return "some are infinite: an overflow, or a division by zero"
    if not wrong.any():
        return "they are all zero: never written, or accumulated nowhere"
    if wrong.size > 1 and np.ptp(wrong) == 0:
        return "they all hold one constant"
    scale = float(np.abs(right).max(initial=0.0)) or 1.0
    if np.abs(wrong + right).max() < 1e-2 * scale:
        return "they have the opposite sign"
    ratio = _ratio(wrong, right)
    if ratio is not None:
        return f"they are {ratio:.4g} times what is expected: a factor is missing, or a step is summed twice"
    moved = _moved(got, want)
    return moved or ""


def _ratio(wrong: Array, right: Array) -> float | None:
    power = float(right @ right) if right.ndim == 1 else 0.0
    if wrong.size < 4 or power == 0.0:
        return None
    ratio = float(wrong @ right) / power
    rest = float(np.linalg.norm(wrong - ratio * right)) / (float(np.linalg.norm(wrong)) or 1.0)
    return ratio if rest < 0.02 and abs(ratio - 1) > 0.02 else None


def _moved(got: Array, want: Array) -> str:
    if got.ndim < 2 or got.size > _SAMPLES:
        return ""
    scale = float(np.abs(want).max(initial=0.0)) or 1.0
    if got.shape[-1] == got.shape[-2] and np.abs(got - np.swapaxes(want, -1, -2)).max() < 1e-2 * scale:
        return "the last two axes are exchanged"
    for axis in range(got.ndim):
        for step in (1, -1):
            if got.shape[axis] > 2 and np.abs(got - np.roll(want, step, axis)).max() < 1e-2 * scale:
                return f"values are shifted by {step} along axis {axis}"
    return ""


def _extent(bad: Array, axis: int) -> tuple[int, int]:
    rows = np.flatnonzero(_any_but(bad, axis))
    return int(rows[0]), int(rows[-1])


def _any_but(bad: Array, axis: int) -> Array:
    return np.atleast_1d(np.any(bad, axis=tuple(other for other in range(bad.ndim) if other != axis)))


def _is_stripe(bad: Array, axis: int) -> bool:
    if bad.ndim < 2:
        return False
    share = bad.mean(axis=tuple(other for other in range(bad.ndim) if other != axis))
    hit = share[share > 0]
    return bool(hit.size < share.size and hit.mean() > 0.9)


def _some(bad: Array) -> Array:
    found = np.argwhere(bad)
    step = max(1, len(found) // 100_000)
    return found[::step]


def _indices(rows: Array) -> str:
    shown = ", ".join(str(int(row)) for row in rows[:6])
    return shown + (f", ... ({rows.size})" if rows.size > 6 else "")


def _short(value: Any) -> str:
    return f"{float(value):.6g}"
