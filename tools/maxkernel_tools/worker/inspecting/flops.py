"""Counts floating-point work of a jaxpr: exact for matmuls, one per element for elementwise arithmetic.

Counts an algorithm, not a machine: a transcendental is one flop here, whatever it costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from jax._src import core

from maxkernel_tools.worker.inspecting.evaluating import UNKNOWN, apply, constant_value, literal_value
from maxkernel_tools.worker.inspecting.walking import (
    INLINED,
    inner_consts,
    inner_jaxpr,
    open_jaxpr,
    scan_trips,
    sub_jaxprs,
)

_FREE = frozenset(
    [
        "broadcast_in_dim",
        "reshape",
        "transpose",
        "slice",
        "dynamic_slice",
        "dynamic_update_slice",
        "concatenate",
        "squeeze",
        "pad",
        "rev",
        "iota",
        "copy",
        "get",
        "swap",
        "convert_element_type",
        "bitcast_convert_type",
        "gather",
        "program_id",
        "num_programs",
        "dma_start",
        "dma_wait",
        "semaphore_wait",
        "semaphore_signal",
        "stop_gradient",
        "multiple_of",
        "debug_print",
        "split",
        "expand_dims",
        "optimization_barrier",
        "masked_load",
        "masked_swap",
        "load",
        "store",
        "select_n",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and",
        "or",
        "not",
        "roll",
        "repeat",
    ]
)
_REDUCTIONS = frozenset(
    ["reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin", "reduce_and", "reduce_or", "reduce"]
)
_CUMULATIVE = frozenset(["cumsum", "cummax", "cummin", "cumprod", "cumlogsumexp"])


def dot_flops(eqn: Any) -> int:
    """Two flops per multiply-add of a ``dot_general``."""
    contract = eqn.params["dimension_numbers"][0][0]
    lhs = eqn.invars[0].aval.shape
    return 2 * prod(eqn.outvars[0].aval.shape) * prod(lhs[axis] for axis in contract)


def convolution_flops(eqn: Any) -> int:
    """Two flops per multiply-add of a ``conv_general_dilated``."""
    kernel = eqn.invars[1].aval.shape
    outputs = kernel[eqn.params["dimension_numbers"].rhs_spec[0]]
    return 2 * prod(eqn.outvars[0].aval.shape) * prod(kernel) // max(outputs, 1)


def equation_flops(eqn: Any) -> int:
    """Flops of one equation that has no jaxpr inside."""
    name = eqn.primitive.name
    if name == "dot_general":
        return dot_flops(eqn)
    if name == "conv_general_dilated":
        return convolution_flops(eqn)
    if name in _REDUCTIONS or name in _CUMULATIVE:
        return prod(getattr(eqn.invars[0].aval, "shape", ()))
    if name in _FREE or not eqn.outvars:
        return 0
    aval = eqn.outvars[0].aval
    if "float" not in str(getattr(aval, "dtype", "")):
        return 0
    return prod(getattr(aval, "shape", ()))


def plain_flops(jaxpr: Any) -> int:
    """Flops of a jaxpr outside any ``pallas_call``; the larger branch of a ``cond``, one trip of a ``while``."""
    total = 0
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name == "pallas_call":
            continue
        subs = sub_jaxprs(eqn)
        if name == "cond":
            total += max((plain_flops(sub) for sub in subs), default=0)
        elif subs and not name.startswith("reduce"):
            total += scan_trips(eqn) * sum(plain_flops(sub) for sub in subs)
        else:
            total += equation_flops(eqn)
    return total


def grid_flops(jaxpr: Any, axes: Mapping[int, Any], grid: tuple[int, ...]) -> float:
    """Mean flops of a kernel body per grid step.

    Branches on grid indices count by the share of steps that take them; others by their larger side.

    Args:
        jaxpr: the body.
        axes: index along each grid axis, broadcastable over the grid.
        grid: its extents.
    """
    return _weighted(jaxpr, {}, axes, grid)


def _weighted(jaxpr: Any, env: dict[Any, Any], axes: Mapping[int, Any], grid: tuple[int, ...]) -> float:
    def read(atom: Any) -> Any:
        return literal_value(atom) if isinstance(atom, core.Literal) else env.get(atom, UNKNOWN)

    total = 0.0
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        values = [read(atom) for atom in eqn.invars]
        if name == "program_id":
            env[eqn.outvars[0]] = axes.get(eqn.params["axis"], UNKNOWN)
        elif name == "num_programs":
            axis = eqn.params["axis"]
            env[eqn.outvars[0]] = np.int64(grid[axis]) if axis < len(grid) else UNKNOWN
        elif name == "cond":
            total += _branches(eqn, values, axes, grid)
        elif name in INLINED and inner_jaxpr(eqn) is not None:
            total += _inline(eqn, values, env, axes, grid)
        elif subs := [] if name.startswith("reduce") else sub_jaxprs(eqn):
            total += _trips(eqn, values) * sum(_weighted(sub, {}, axes, grid) for sub in subs)
        else:
            total += equation_flops(eqn)
            env.update(zip(eqn.outvars, apply(eqn, values), strict=True))
    return total


def _inline(eqn: Any, values: list[Any], env: dict[Any, Any], axes: Mapping[int, Any], grid: tuple[int, ...]) -> float:
    inner = inner_jaxpr(eqn)
    if inner is None:
        return 0.0
    local: dict[Any, Any] = dict(zip(inner.invars, values, strict=False))
    local.update(zip(inner.constvars, (constant_value(c) for c in inner_consts(eqn)), strict=False))
    flops = _weighted(inner, local, axes, grid)
    for out, atom in zip(eqn.outvars, inner.outvars, strict=True):
        env[out] = literal_value(atom) if isinstance(atom, core.Literal) else local.get(atom, UNKNOWN)
    return flops


def _branches(eqn: Any, values: list[Any], axes: Mapping[int, Any], grid: tuple[int, ...]) -> float:
    branches = [open_jaxpr(branch) for branch in eqn.params["branches"]]
    costs = [_weighted(b, dict(zip(b.invars, values[1:], strict=False)), axes, grid) for b in branches]
    which = values[0]
    if which is UNKNOWN:
        return max(costs, default=0.0)
    taken = np.clip(np.asarray(which).astype(int), 0, len(costs) - 1)
    return float(sum(cost * float(np.mean(taken == index)) for index, cost in enumerate(costs)))


def _trips(eqn: Any, values: list[Any]) -> int:
    if eqn.primitive.name == "scan":
        return scan_trips(eqn)
    if eqn.primitive.name == "while":
        return while_trips(eqn, values) or 1
    return 1


def while_trips(eqn: Any, values: list[Any]) -> int | None:
    """Trips of a ``fori_loop`` with bounds known at trace time (a ``while`` that counts up to a bound), else None."""
    skip = eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
    carried = values[skip:]
    if len(carried) < 2:
        return None
    low, high = carried[0], carried[1]
    if low is UNKNOWN or high is UNKNOWN or np.ndim(low) or np.ndim(high):
        return None
    return max(int(high) - int(low), 0)
