"""Compare one output with the oracle and, where they differ, say how an engineer would.

Pure numpy. Owns the decision for one output and the reading of its error pattern; shapes, seeds and verdicts belong
to ``testing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxkernel_tools.checking.patterns import describe_pattern
from maxkernel_tools.checking.tolerance import AllowedError, allowed_error, is_floating
from maxkernel_tools.records.tasks import Tolerance

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Comparison:
    """How one output compares with the oracle.

    Attributes:
        passed: dtype, shape, every element and the mean are within what arithmetic allows.
        kind: ``match``, ``dtype``, ``shape``, ``nonfinite``, ``wrong``, ``drift`` (only the mean is off).
        max_abs_err: largest absolute error. ``mean_abs_err``: mean. ``max_rel_err``: largest, relative to |oracle| +
        spread. allowed: what ``max_rel_err`` was held against. first_bad_index: first element in C order outside its
        allowance. bad_fraction: share of elements outside. resolution: allowed error over spread; near 1 the
        comparison cannot tell right from wrong. explanation: where and how it differs, and the likely cause; empty on
        a match.
    """

    passed: bool
    kind: str
    max_abs_err: float | None = None
    mean_abs_err: float | None = None
    max_rel_err: float | None = None
    allowed: float | None = None
    first_bad_index: tuple[int, ...] | None = None
    bad_fraction: float | None = None
    resolution: float = 0.0
    explanation: str = ""


def compare(
    actual: Array,
    reference: Array,
    oracle: Array,
    policy: Tolerance | None = None,
    *,
    reduction: int = 64,
    block: Sequence[int] = (),
    allowed: AllowedError | None = None,
) -> Comparison:
    """Compare one output.

    Args:
        actual: the candidate's output.
        reference: the reference's own output at the task's dtype: gives dtype, shape and rounding error.
        oracle: what is right; the reference's output again where there is no wider one.
        policy: the task's tolerance policy.
        reduction: terms summed per output element.
        block: the candidate's output block, for saying which block is wrong.
        allowed: the allowance, where the caller has derived it already.
    """
    if actual.shape != reference.shape:
        text = f"shape is {actual.shape}, {reference.shape} is asked for"
        return Comparison(passed=False, kind="shape", explanation=text)
    if actual.dtype != reference.dtype:
        text = f"dtype is {actual.dtype.name}, {reference.dtype.name} is asked for"
        return Comparison(passed=False, kind="dtype", explanation=text)
    if not actual.size:
        return Comparison(passed=True, kind="match", max_abs_err=0.0, mean_abs_err=0.0, max_rel_err=0.0, allowed=0.0)
    allowance = allowed or allowed_error(oracle, reference, policy, reduction=reduction)
    got, want = actual.astype(np.float64), oracle.astype(np.float64)
    error, bad = _errors(got, want, reference, allowance)
    finite_error = error[np.isfinite(error)]
    mean = float(finite_error.mean()) if finite_error.size else float("nan")
    ratio = np.divide(error, allowance.scale, out=np.zeros_like(error), where=allowance.scale > 0)
    measured = ratio[np.isfinite(ratio)]
    drifted = mean > allowance.mean
    nonfinite = is_floating(actual.dtype) and bool((bad & ~np.isfinite(got) & np.isfinite(want)).any())
    kind = "nonfinite" if nonfinite else "wrong" if bad.any() else "drift" if drifted else "match"
    explanation = ""
    if kind == "drift":
        explanation = (
            f"every element is near, yet the mean error {mean:.3g} is above the {allowance.mean:.3g} that rounding "
            "explains: a term is dropped or an intermediate is kept in too low a precision"
        )
    elif kind != "match":
        explanation = describe_pattern(got, want, bad, tuple(block))
    return Comparison(
        passed=kind == "match",
        kind=kind,
        max_abs_err=float(finite_error.max()) if finite_error.size else None,
        mean_abs_err=mean if np.isfinite(mean) else None,
        max_rel_err=float(measured.max()) if measured.size else None,
        allowed=allowance.relative,
        first_bad_index=_first(bad),
        bad_fraction=float(bad.mean()),
        resolution=allowance.resolution,
        explanation=explanation,
    )


def _errors(got: Array, want: Array, reference: Array, allowance: AllowedError) -> tuple[Array, Array]:
    """Absolute errors, and which elements are outside their allowance. NaN equals nothing; an infinity only itself."""
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got - want)
    same_infinity = np.isinf(got) & np.isinf(want) & (np.sign(got) == np.sign(want))
    # a float64 oracle stays finite where the task's dtype must overflow; the reference says so
    own = reference.astype(np.float64)
    overflow = np.isinf(own) & (got == own)
    error = np.where(same_infinity | overflow, 0.0, error)
    bad = ~(error <= allowance.elementwise)
    return error, bad


def _first(bad: Array) -> tuple[int, ...] | None:
    if not bad.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
