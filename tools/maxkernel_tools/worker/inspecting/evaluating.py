"""Evaluates the index arithmetic of a jaxpr with numpy: over a whole grid at once, or one grid step at a time.

Values are numpy arrays that broadcast over the grid's axes, or :data:`UNKNOWN` where they depend on data. No jax
backend is touched. Only what kernels do to indices is implemented; everything else is unknown, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from jax._src import core

from maxkernel_tools.worker.inspecting.walking import INLINED, inner_consts, inner_jaxpr, open_jaxpr


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""A value that depends on data."""

_MAX_ELEMENTS = 8_000_000


def _divide(a: Any, b: Any) -> Any:
    if np.any(np.asarray(b) == 0):
        return UNKNOWN
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        quotient = np.abs(a) // np.abs(b)
        return np.where(np.sign(a) * np.sign(b) < 0, -quotient, quotient)
    return a / b


def _remainder(a: Any, b: Any) -> Any:
    return UNKNOWN if np.any(np.asarray(b) == 0) else np.fmod(a, b)


def _select(which: Any, *cases: Any) -> Any:
    if len(cases) == 2:
        return np.where(np.asarray(which).astype(bool), cases[1], cases[0])
    return np.choose(np.asarray(which).astype(int), list(cases))


def _shift_right(a: Any, b: Any) -> Any:
    return np.right_shift(a, b)


_BINARY: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "rem": _remainder,
    "max": np.maximum,
    "min": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right_arithmetic": _shift_right,
    "select_n": _select,
    "sign": np.sign,
    "neg": np.negative,
    "abs": np.abs,
    "not": lambda a: np.logical_not(a) if np.asarray(a).dtype == bool else np.invert(a),
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "stop_gradient": lambda x: x,
    "copy": lambda x: x,
    "optimization_barrier": lambda x: x,
    "multiple_of": lambda x, *_: x,
}

_BOUNDED = {"and": False, "or": True}


def literal_value(atom: Any) -> Any:
    """Return the value of a literal of one element, else UNKNOWN."""
    return constant_value(atom.val)


def constant_value(value: Any) -> Any:
    """Return a constant of one integer or boolean element as a numpy scalar, else UNKNOWN."""
    if isinstance(value, bool | int | float | np.generic):
        return np.asarray(value)[()]
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.reshape(())[()]
    return UNKNOWN


def apply(eqn: Any, values: Sequence[Any]) -> list[Any]:
    """Apply one equation to scalars, grids of scalars, or arrays of one value; unknown beyond index arithmetic.

    An array all of whose elements are alike is held as that one value: what follows elementwise stays alike.
    """
    name = eqn.primitive.name
    unknown = [UNKNOWN] * len(eqn.outvars)
    if name in _BOUNDED and any(value is UNKNOWN for value in values):
        return _short_circuit(name, values, unknown)
    if name == "select_n" and values[0] is not UNKNOWN and np.ndim(values[0]) == 0:
        return [values[1 + int(values[0])]]
    if any(value is UNKNOWN for value in values):
        return unknown
    if name == "convert_element_type":
        return [_convert(values[0], eqn.params["new_dtype"])]
    if name in ("broadcast_in_dim", "reshape", "squeeze"):
        return [values[0]]
    if name == "integer_pow":
        return [np.power(values[0], eqn.params["y"])]
    rule = _BINARY.get(name)
    if rule is None:
        return unknown
    with np.errstate(all="ignore"):
        try:
            return [rule(*values)]
        except (TypeError, ValueError, OverflowError):
            return unknown


def _short_circuit(name: str, values: Sequence[Any], unknown: list[Any]) -> list[Any]:
    decisive = _BOUNDED[name]
    for value in values:
        if (
            value is not UNKNOWN
            and np.ndim(value) == 0
            and isinstance(value, bool | np.bool_)
            and bool(value) is decisive
        ):
            return [np.bool_(decisive)]
    return unknown


def _convert(value: Any, dtype: Any) -> Any:
    try:
        return np.asarray(value).astype(np.dtype(dtype))[()]
    except TypeError:
        return UNKNOWN


def evaluate(jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any], ids: Mapping[int, Any]) -> list[Any]:
    """Evaluate a jaxpr of index arithmetic.

    Args:
        jaxpr: an open jaxpr.
        consts: values of its ``constvars``.
        arguments: values of its ``invars``, UNKNOWN allowed.
        ids: value of ``program_id`` per grid axis.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, (constant_value(c) for c in consts), strict=False))
    env.update(zip(jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Any:
        return literal_value(atom) if isinstance(atom, core.Literal) else env.get(atom, UNKNOWN)

    for eqn in jaxpr.eqns:
        values = [read(atom) for atom in eqn.invars]
        env.update(zip(eqn.outvars, _one(eqn, values, ids), strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _one(eqn: Any, values: list[Any], ids: Mapping[int, Any]) -> list[Any]:
    name = eqn.primitive.name
    if name == "program_id":
        return [ids.get(eqn.params["axis"], UNKNOWN)]
    if name in INLINED:
        inner = inner_jaxpr(eqn)
        if inner is not None and len(inner.invars) == len(values):
            return evaluate(inner, inner_consts(eqn), values, ids)
        return [UNKNOWN] * len(eqn.outvars)
    if name == "cond":
        return _cond(eqn, values, ids)
    return apply(eqn, values)


def _cond(eqn: Any, values: list[Any], ids: Mapping[int, Any]) -> list[Any]:
    which, rest = values[0], values[1:]
    if which is UNKNOWN:
        return [UNKNOWN] * len(eqn.outvars)
    results = [evaluate(open_jaxpr(b), getattr(b, "consts", ()), rest, ids) for b in eqn.params["branches"]]
    merged: list[Any] = []
    for position in range(len(eqn.outvars)):
        options = [result[position] for result in results]
        if np.ndim(which) == 0:
            merged.append(options[min(max(int(which), 0), len(options) - 1)])
        elif any(option is UNKNOWN for option in options):
            merged.append(UNKNOWN)
        else:
            merged.append(np.choose(np.clip(np.asarray(which).astype(int), 0, len(options) - 1), options))
    return merged


def grid_axes(grid: Sequence[int]) -> dict[int, Any]:
    """Return the index along each grid axis, shaped to broadcast against the others."""
    return {
        axis: np.arange(extent, dtype=np.int64).reshape([-1 if other == axis else 1 for other in range(len(grid))])
        for axis, extent in enumerate(grid)
    }


def too_large(grid: Sequence[int]) -> bool:
    """Whether arrays over the whole grid would take too long."""
    total = 1
    for extent in grid:
        total *= extent
    return total > _MAX_ELEMENTS
