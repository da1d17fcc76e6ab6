"""Writes a reference's jaxpr as data an author without jax can read (``records.tasks.ReferenceGraph``)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jax._src import core

from maxkernel_tools.worker.inspecting.calls import dtype_name
from maxkernel_tools.worker.inspecting.walking import inner_consts, inner_jaxpr

_HIDDEN: Final = frozenset({"sharding", "out_sharding", "jaxpr", "call_jaxpr", "fun_jaxpr", "weak_type", "operand"})
_MAX_PARAM = 2000
_MAX_INLINE_CONST = 16


def reference_graph(closed_jaxpr: Any) -> dict[str, Any]:
    """Return the jaxpr with nested calls inlined, in the form of ``ReferenceGraph``."""
    writer = _Writer()
    jaxpr = closed_jaxpr.jaxpr
    names = [writer.fresh(variable) for variable in jaxpr.invars]
    writer.bind_consts(jaxpr.constvars, closed_jaxpr.consts)
    writer.equations_of(jaxpr)
    return {
        "inputs": names,
        "input_avals": [_aval(variable.aval) for variable in jaxpr.invars],
        "outputs": [writer.read(atom) for atom in jaxpr.outvars],
        "output_avals": [_aval(atom.aval) for atom in jaxpr.outvars],
        "equations": writer.equations,
        "constants": writer.constants,
    }


class _Writer:
    def __init__(self) -> None:
        self.equations: list[dict[str, Any]] = []
        self.constants: dict[str, str] = {}
        self._names: dict[Any, str] = {}
        self._count = 0

    def fresh(self, variable: Any) -> str:
        name = _letters(self._count)
        self._count += 1
        self._names[variable] = name
        return name

    def read(self, atom: Any) -> str:
        return _literal(atom) if isinstance(atom, core.Literal) else self._names[atom]

    def bind_consts(self, variables: Any, values: Any) -> None:
        for variable, value in zip(variables, values, strict=False):
            self.constants[self.fresh(variable)] = _constant(value)

    def equations_of(self, jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            inner = inner_jaxpr(eqn)
            arguments = [self.read(atom) for atom in eqn.invars]
            if inner is None or len(inner.invars) != len(arguments):
                self._write(eqn, arguments)
                continue
            saved = dict(self._names)
            self._names.update(zip(inner.invars, arguments, strict=True))
            self.bind_consts(inner.constvars, inner_consts(eqn))
            self.equations_of(inner)
            results = [self.read(atom) for atom in inner.outvars]
            # One jaxpr object may be called twice: its variables get new names each time.
            self._names = saved
            self._names.update(zip(eqn.outvars, results, strict=True))

    def _write(self, eqn: Any, arguments: list[str]) -> None:
        self.equations.append(
            {
                "primitive": eqn.primitive.name,
                "inputs": arguments,
                "outputs": [self.fresh(variable) for variable in eqn.outvars],
                "params": _params(eqn.params),
                "avals": [_aval(variable.aval) for variable in eqn.outvars],
            }
        )


def _params(params: Any) -> dict[str, str]:
    kept: dict[str, str] = {}
    for key, value in params.items():
        if value is None or key in _HIDDEN:
            continue
        kept[key] = dtype_name(value) if _is_dtype(value) else str(value)[:_MAX_PARAM]
    return kept


def _is_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))


def _aval(aval: Any) -> str:
    shape = ",".join(str(extent) for extent in getattr(aval, "shape", ()))
    return f"{dtype_name(getattr(aval, 'dtype', 'token'))}[{shape}]"


def _literal(atom: Any) -> str:
    value = atom.val
    text = repr(value.item()) if hasattr(value, "item") and np.size(value) == 1 else str(value)
    return f"{text}:{dtype_name(getattr(atom.aval, 'dtype', ''))}"


def _constant(value: Any) -> str:
    array = np.asarray(value)
    head = f"{dtype_name(array.dtype)}[{','.join(map(str, array.shape))}]"
    return f"{head} = {array.tolist()}" if array.size <= _MAX_INLINE_CONST else head


def _letters(number: int) -> str:
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text
