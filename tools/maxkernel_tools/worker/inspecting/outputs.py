"""Says which outputs of a program depend on a ``pallas_call``, and which calls any output depends on."""

from __future__ import annotations

from typing import Any

from jax._src import core

from maxkernel_tools.worker.inspecting.walking import inner_jaxpr, sub_jaxprs


def outputs_without_pallas(jaxpr: Any) -> list[int]:
    """Return the positions of outputs no ``pallas_call`` contributes to."""
    depends = _tainted(jaxpr, [False] * len(jaxpr.invars))
    return [index for index, tainted in enumerate(depends) if not tainted]


def calls_on_output_path(jaxpr: Any) -> set[int]:
    """Return ``id()`` of every ``pallas_call`` equation some output depends on."""
    found: set[int] = set()
    _live(jaxpr, [True] * len(jaxpr.outvars), found)
    return found


def _tainted(jaxpr: Any, arguments: list[bool]) -> list[bool]:
    taint: dict[Any, bool] = dict(zip(jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> bool:
        return not isinstance(atom, core.Literal) and taint.get(atom, False)

    for eqn in jaxpr.eqns:
        values = [read(atom) for atom in eqn.invars]
        inner = inner_jaxpr(eqn)
        if inner is not None and len(inner.invars) == len(values):
            results = _tainted(inner, values)
        else:
            results = [any(values) or _contains_pallas(eqn)] * len(eqn.outvars)
        taint.update(zip(eqn.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _contains_pallas(eqn: Any) -> bool:
    if eqn.primitive.name == "pallas_call":
        return True
    return any(_contains_pallas(inner) for sub in sub_jaxprs(eqn) for inner in sub.eqns)


def _live(jaxpr: Any, wanted: list[bool], found: set[int]) -> list[bool]:
    """Collect live calls going backwards; return which arguments are needed."""
    needed = {
        atom for atom, want in zip(jaxpr.outvars, wanted, strict=True) if want and not isinstance(atom, core.Literal)
    }
    for eqn in reversed(jaxpr.eqns):
        results = [variable in needed for variable in eqn.outvars]
        if not any(results) and not getattr(eqn, "effects", None):
            continue
        inner = inner_jaxpr(eqn)
        if inner is not None and len(inner.invars) == len(eqn.invars):
            used = _live(inner, results, found)
        else:
            used = [True] * len(eqn.invars)
            if eqn.primitive.name == "pallas_call":
                found.add(id(eqn))
            else:
                for sub in sub_jaxprs(eqn):
                    _live(sub, [True] * len(sub.outvars), found)
        needed.update(
            atom for atom, use in zip(eqn.invars, used, strict=True) if use and not isinstance(atom, core.Literal)
        )
    return [variable in needed for variable in jaxpr.invars]


def returned_whole(jaxpr: Any) -> dict[int, set[int]]:
    """Return, per ``id()`` of a ``pallas_call`` equation, which of its outputs the program returns without slicing."""
    found: dict[int, set[int]] = {}
    for origins in _origins(jaxpr, [frozenset()] * len(jaxpr.invars)):
        for call, number in origins:
            found.setdefault(call, set()).add(number)
    return found


_Origins = frozenset[tuple[int, int]]


def _origins(jaxpr: Any, arguments: list[_Origins]) -> list[_Origins]:
    env: dict[Any, _Origins] = dict(zip(jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> _Origins:
        return frozenset() if isinstance(atom, core.Literal) else env.get(atom, frozenset())

    for eqn in jaxpr.eqns:
        values = [read(atom) for atom in eqn.invars]
        inner = inner_jaxpr(eqn)
        if eqn.primitive.name == "pallas_call":
            results = [frozenset({(id(eqn), number)}) for number in range(len(eqn.outvars))]
        elif inner is not None and len(inner.invars) == len(values):
            results = _origins(inner, values)
        else:
            results = [_kept(eqn, variable, values) for variable in eqn.outvars]
        env.update(zip(eqn.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _kept(eqn: Any, variable: Any, values: list[_Origins]) -> _Origins:
    """What an equation passes on: an operation that keeps the number of elements keeps all of them."""
    if eqn.primitive.name in ("select_n", "dynamic_update_slice", "scatter", "gather", "while", "scan", "cond"):
        return frozenset()
    size = getattr(variable.aval, "size", None)
    kept: _Origins = frozenset()
    for atom, origins in zip(eqn.invars, values, strict=True):
        if origins and getattr(atom.aval, "size", None) == size:
            kept |= origins
    return kept
