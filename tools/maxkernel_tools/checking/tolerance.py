"""How far an output may lie from the oracle: derived from arithmetic, never passed in by a caller.

A kernel that does the same arithmetic in another order errs about as much as the reference does at the task's dtype.
So the reference's own error against the oracle, relative to ``|oracle| + spread``, times a factor, plus the rounding
of the output's dtype and of a float32 reduction, is what is allowed. Two measures must hold: every element, and the
mean over the whole output, which catches what many small errors add up to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import ml_dtypes
import numpy as np

from maxkernel_tools.records.tasks import Tolerance

Array = np.ndarray[Any, Any]

EPS_F32: Final = float(np.finfo(np.float32).eps)
_EPS_BF16: Final = 2.0**-7
_REDUCTION_FLOOR = 64  # terms assumed to be summed where a task names no reduction
_MEAN_FACTOR = 3.0
_MEAN_ROUNDING = 0.1  # of the output's eps; the mean of an unbiased rounding is far below one eps
_MEAN_ROUNDING_ROUNDED_ORACLE = 0.5


@dataclass(frozen=True)
class AllowedError:
    """What an output may differ from the oracle by.

    Attributes:
        elementwise: allowed absolute error of each element, oracle's shape, float64.
        mean: allowed mean absolute error.
        scale: ``|oracle| + spread``, what ``relative`` is relative to.
        spread: standard deviation of the oracle (its largest magnitude where that is zero).
        relative: allowed error relative to ``scale``.
        resolution: mean allowed error over spread; near 1 and above, the comparison cannot tell right from wrong.
    """

    elementwise: Array
    mean: float
    scale: Array
    spread: float
    relative: float
    resolution: float


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` is a float, ml_dtypes' included."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def machine_eps(dtype: np.dtype[Any]) -> float:
    """Distance from 1 to the next number of ``dtype``; zero for integers and booleans."""
    if not is_floating(dtype):
        return 0.0
    limits = cast("Any", ml_dtypes.finfo)(dtype)
    return float(limits.eps)


def spread_of(values: Array) -> float:
    """Standard deviation of the finite entries, or their largest magnitude where all are alike."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0
    spread = float(finite.std())
    largest = float(np.abs(finite).max())
    return spread if spread > 1e-12 * largest else largest


def allowed_error(
    oracle: Array, reference: Array, policy: Tolerance | None = None, *, reduction: int = _REDUCTION_FLOOR
) -> AllowedError:
    """Derive the allowed error of one output.

    Args:
        oracle: what is right, in float64 or the widest precision available.
        reference: the reference's own output at the task's dtype, from the same inputs.
        policy: the task's policy; None is the default one.
        reduction: how many terms one output element sums.

    Returns:
        Allowed errors; all zero under the ``exact`` policy and for booleans.
    """
    policy = policy or Tolerance()
    exact = oracle.astype(np.float64)
    own = reference.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(own - exact)
    error = np.where(np.isfinite(error), error, 0.0)
    spread = spread_of(exact)
    magnitude = np.where(np.isfinite(exact), np.abs(exact), 0.0)
    scale = magnitude + spread
    if policy.policy == "exact" or reference.dtype.kind == "b" or not exact.size:
        zero = np.zeros_like(exact)
        return AllowedError(zero, 0.0, scale, spread, 0.0, 0.0)
    if not is_floating(reference.dtype):
        return _integer_allowance(error, scale, spread, policy)
    ratio = np.divide(error, scale, out=np.zeros_like(error), where=scale > 0)
    # no TPU computes in float16; its kernels hold bfloat16 between float16 inputs and outputs, and round both
    substituted = reference.dtype == np.float16
    eps = max(_EPS_BF16 if substituted else machine_eps(reference.dtype), machine_eps(oracle.dtype))
    summing = EPS_F32 * float(np.sqrt(max(reduction, _REDUCTION_FLOOR)))
    relative = policy.factor * float(ratio.max(initial=0.0)) + eps + 16 * summing
    rounded_oracle = machine_eps(oracle.dtype) >= machine_eps(reference.dtype) > EPS_F32
    rounding = _MEAN_ROUNDING_ROUNDED_ORACLE if rounded_oracle or substituted else _MEAN_ROUNDING
    mean_scale = float(scale.mean())
    mean = _MEAN_FACTOR * float(error.mean()) + (rounding * eps + 4 * summing) * mean_scale
    elementwise = relative * scale
    resolution = float(elementwise.mean()) / spread if spread else 0.0
    return AllowedError(elementwise, mean, scale, spread, relative, resolution)


def _integer_allowance(error: Array, scale: Array, spread: float, policy: Tolerance) -> AllowedError:
    """Integers match exactly, unless rounding already moves the reference: then by as much, and about as often."""
    largest = float(error.max(initial=0.0))
    elementwise = np.full_like(error, largest)
    mean = policy.factor * float(error.mean())
    relative = largest / spread if spread else 0.0
    return AllowedError(elementwise, mean, scale, spread, relative, relative)
