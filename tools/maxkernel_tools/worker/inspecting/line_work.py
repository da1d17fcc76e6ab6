"""Weighs the source lines of a kernel body: how much of which unit's work each line asks for, over the whole grid.

Amounts are comparable within one unit only: multiply-adds for the MXU, elements for the others. What the compiler
makes of them is not known here; a profile uses the shares to say which lines a unit's busy time belongs to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
from jax._src import core

from maxkernel_tools.worker.inspecting.evaluating import UNKNOWN, apply, constant_value, literal_value
from maxkernel_tools.worker.inspecting.flops import equation_flops, while_trips
from maxkernel_tools.worker.inspecting.lines import Place, place_of
from maxkernel_tools.worker.inspecting.walking import (
    INLINED,
    inner_consts,
    inner_jaxpr,
    is_users_function,
    open_jaxpr,
    scan_trips,
    sub_jaxprs,
)

MAX_LINES: Final = 40

_MATMULS: Final = frozenset({"dot_general", "conv_general_dilated"})
_EUP: Final = frozenset(
    [
        "exp",
        "exp2",
        "log",
        "log1p",
        "expm1",
        "tanh",
        "logistic",
        "rsqrt",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "erf",
        "erfc",
        "erf_inv",
        "pow",
        "div",
        "cbrt",
        "atan2",
    ]
)
_XLU: Final = frozenset(
    [
        "reduce_sum",
        "reduce_max",
        "reduce_min",
        "reduce_prod",
        "argmax",
        "argmin",
        "reduce_and",
        "reduce_or",
        "transpose",
        "roll",
        "sort",
        "gather",
        "cumsum",
        "cummax",
        "cummin",
        "cumprod",
        "rev",
    ]
)
_LOADS: Final = frozenset({"get", "load", "masked_load"})
_STORES: Final = frozenset({"swap", "store", "masked_swap", "addupdate"})
_WAITS: Final = frozenset({"dma_wait", "semaphore_wait"})
_FREE: Final = frozenset(
    [
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "expand_dims",
        "iota",
        "program_id",
        "num_programs",
        "stop_gradient",
        "multiple_of",
        "optimization_barrier",
        "dma_start",
        "semaphore_signal",
        "copy",
        "split",
        "slice",
    ]
)


def line_work(jaxpr: Any, axes: Mapping[int, Any], grid: tuple[int, ...], kernel_file: str) -> list[dict[str, Any]]:
    """Return ``line``, ``unit`` and mean ``work`` per grid step, the largest of each unit first.

    Args:
        jaxpr: the body.
        axes: index along each grid axis, broadcastable over the grid.
        grid: its extents.
        kernel_file: lines are lines of this file; what other files do is at the line that calls them.
    """
    walker = _Walker(axes, grid, kernel_file, defaultdict(float))
    walker.visit(jaxpr, {}, 1.0, None, hidden=False)
    ordered = sorted(walker.found.items(), key=lambda item: -item[1])[:MAX_LINES]
    return [{"line": line, "unit": unit, "work": work} for (line, unit), work in ordered]


@dataclass(frozen=True)
class _Walker:
    axes: Mapping[int, Any]
    grid: tuple[int, ...]
    kernel_file: str
    found: defaultdict[tuple[int, str], float]

    def visit(self, jaxpr: Any, env: dict[Any, Any], times: float, around: Place | None, *, hidden: bool) -> None:
        """Count every equation of ``jaxpr``, run ``times`` a step; branches by the share of steps that take them."""

        def read(atom: Any) -> Any:
            return literal_value(atom) if isinstance(atom, core.Literal) else env.get(atom, UNKNOWN)

        for eqn in jaxpr.eqns:
            name = eqn.primitive.name
            place = around if hidden else place_of(eqn, self.kernel_file, around)
            values = [read(atom) for atom in eqn.invars]
            if name == "program_id":
                env[eqn.outvars[0]] = self.axes.get(eqn.params["axis"], UNKNOWN)
            elif name == "num_programs":
                axis = eqn.params["axis"]
                env[eqn.outvars[0]] = np.int64(self.grid[axis]) if axis < len(self.grid) else UNKNOWN
            elif name == "cond":
                self._branches(eqn, values, times, place, hidden=hidden)
            elif name in INLINED and (inner := inner_jaxpr(eqn)) is not None:
                local: dict[Any, Any] = dict(zip(inner.invars, values, strict=False))
                local.update(zip(inner.constvars, map(constant_value, inner_consts(eqn)), strict=False))
                library = hidden or not is_users_function(inner, self.kernel_file)
                self.visit(inner, local, times, place, hidden=library)
                for out, atom in zip(eqn.outvars, inner.outvars, strict=True):
                    env[out] = literal_value(atom) if isinstance(atom, core.Literal) else local.get(atom, UNKNOWN)
            elif subs := [] if name.startswith("reduce") else sub_jaxprs(eqn):
                trips = (while_trips(eqn, values) or 1) if name == "while" else scan_trips(eqn)
                for sub in subs:
                    self.visit(sub, {}, times * trips, place, hidden=hidden)
            else:
                self._count(eqn, times, place)
                env.update(zip(eqn.outvars, apply(eqn, values), strict=True))

    def _branches(self, eqn: Any, values: list[Any], times: float, place: Place | None, *, hidden: bool) -> None:
        branches = [open_jaxpr(branch) for branch in eqn.params["branches"]]
        which = values[0]
        for index, branch in enumerate(branches):
            share = 1.0
            if which is not UNKNOWN:
                taken = np.clip(np.asarray(which).astype(int), 0, len(branches) - 1)
                share = float(np.mean(taken == index))
            if share:
                local: dict[Any, Any] = dict(zip(branch.invars, values[1:], strict=False))
                self.visit(branch, local, times * share, place, hidden=hidden)

    def _count(self, eqn: Any, times: float, place: Place | None) -> None:
        unit, work = _asked(eqn)
        if place is not None and work and place.file == self.kernel_file:
            self.found[place.line, unit] += times * work


def _asked(eqn: Any) -> tuple[str, float]:
    """Return the unit an equation keeps busy and how much it asks of it."""
    name = eqn.primitive.name
    if name in _MATMULS:
        return "mxu", float(equation_flops(eqn))
    if name in _FREE or not (eqn.outvars or eqn.invars):
        return "scalar", 0.0
    if name in _WAITS:
        return "dma", 1.0
    made = prod(eqn.outvars[0].aval.shape) if eqn.outvars and hasattr(eqn.outvars[0].aval, "shape") else 0
    if name in _XLU:
        return "xlu", float(prod(getattr(eqn.invars[0].aval, "shape", ())))
    if name in _LOADS:
        return "load", float(made)
    if name in _STORES:
        return "store", float(max(made, prod(getattr(eqn.invars[1].aval, "shape", ())) if len(eqn.invars) > 1 else 0))
    if made <= 1:
        return "scalar", float(made)
    return ("eup" if name in _EUP else "vpu"), float(made)
