"""Walks jaxprs: sub-jaxprs of an equation, how often they run, and every equation with its user place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jax._src import core

from maxkernel_tools.worker.inspecting.lines import Place, is_users_function, place_of

INLINED = frozenset(
    {
        "jit",
        "pjit",
        "closed_call",
        "core_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "remat",
        "checkpoint",
        "remat2",
        "custom_lin",
    }
)
"""Calls that run their one jaxpr exactly once, arguments in order."""


@dataclass(frozen=True)
class Site:
    """An equation on a walk.

    Attributes:
        eqn: the equation.
        place: the user's place.
        trips: how often it runs for one run of the whole, as far as scans say (a ``while`` counts once).
        certain: no ``while`` or ``cond`` around it.
    """

    eqn: Any
    place: Place | None
    trips: int
    certain: bool


_JAXPR_TYPES: tuple[type, ...] = tuple({core.Jaxpr, getattr(core, "ClosedJaxpr", core.Jaxpr)})


def open_jaxpr(jaxpr: Any) -> Any:
    """Return the open jaxpr of a closed or open one."""
    # jax 0.12 has one class for both, whose legacy accessor returns itself.
    return getattr(jaxpr, "jaxpr", jaxpr)


def is_jaxpr(value: Any) -> bool:
    """Whether ``value`` is a jaxpr, open or closed."""
    return isinstance(value, _JAXPR_TYPES)


def inner_jaxpr(eqn: Any) -> Any | None:
    """Return the open jaxpr of a call that can be inlined, else None."""
    if eqn.primitive.name not in INLINED:
        return None
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if key in eqn.params:
            return open_jaxpr(eqn.params[key])
    return None


def inner_consts(eqn: Any) -> list[Any]:
    """Return the constants of the jaxpr of an inlined call, in the order of its ``constvars``."""
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if key in eqn.params:
            return list(getattr(eqn.params[key], "consts", ()))
    return []


def sub_jaxprs(eqn: Any) -> list[Any]:
    """Return the open jaxprs in the parameters of ``eqn``, index maps of a ``pallas_call`` left out."""
    if eqn.primitive.name == "pallas_call":
        return [open_jaxpr(eqn.params["jaxpr"])]
    found: list[Any] = []
    for value in eqn.params.values():
        items = value if isinstance(value, tuple | list) else (value,)
        found.extend(open_jaxpr(item) for item in items if is_jaxpr(item))
    return found


def scan_trips(eqn: Any) -> int:
    """How often the body of ``eqn`` runs: the length of a scan, else 1."""
    return int(eqn.params.get("length", 1) or 0) if eqn.primitive.name == "scan" else 1


def is_literal(atom: Any) -> bool:
    """Whether an equation's input is a literal."""
    return isinstance(atom, core.Literal)


def walk(
    jaxpr: Any,
    kernel_file: str,
    *,
    place: Place | None = None,
    trips: int = 1,
    certain: bool = True,
    into_pallas: bool = False,
) -> Iterator[Site]:
    """Yield every equation, depth first; bodies of ``pallas_call`` only ``into_pallas``."""
    for eqn in jaxpr.eqns:
        here = place_of(eqn, kernel_file, place)
        yield Site(eqn, here, trips, certain)
        name = eqn.primitive.name
        if name == "pallas_call" and not into_pallas:
            continue
        inside = certain and name not in ("while", "cond")
        for sub in sub_jaxprs(eqn):
            if name in INLINED and not is_users_function(sub, kernel_file):
                yield from _walk_library(sub, kernel_file, here, trips, inside)
            else:
                yield from walk(
                    sub,
                    kernel_file,
                    place=here,
                    trips=trips * scan_trips(eqn),
                    certain=inside,
                    into_pallas=into_pallas,
                )


def _walk_library(jaxpr: Any, kernel_file: str, place: Place | None, trips: int, certain: bool) -> Iterator[Site]:
    # Everything inside a library function is at the line that calls it.
    for eqn in jaxpr.eqns:
        yield Site(eqn, place, trips, certain)
        inside = certain and eqn.primitive.name not in ("while", "cond")
        for sub in sub_jaxprs(eqn):
            yield from _walk_library(sub, kernel_file, place, trips * scan_trips(eqn), inside)
