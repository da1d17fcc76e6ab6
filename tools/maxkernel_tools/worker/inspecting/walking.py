"""Walks jaxprs: sub-jaxprs of an equation, how often they run, and every equation with its user place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        trips: how often it runs for one run of the whole, as far as scans say (a ``while`` counts once).
        certain: no ``while`` or ``cond`` around it.
    """

    eqn: Any
    trips: int
    certain: bool
    _kernel_file: str
    _around: Site | Place | None
    _library: bool

    @property
    def place(self) -> Place | None:
        """The user's place: its own, or where the library function it belongs to is called."""
        around = self._around.place if isinstance(self._around, Site) else self._around
        return around if self._library else place_of(self.eqn, self._kernel_file, around)


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
    jaxpr: Any, kernel_file: str, *, place: Place | None = None, trips: int = 1, into_pallas: bool = False
) -> Iterator[Site]:
    """Yield every equation, depth first; bodies of ``pallas_call`` only ``into_pallas``."""
    root = Site(None, trips, True, kernel_file, place, True)
    yield from _walk(jaxpr, root, into_pallas=into_pallas, library=False)


def _walk(jaxpr: Any, around: Site, *, into_pallas: bool, library: bool) -> Iterator[Site]:
    kernel_file = around._kernel_file
    for eqn in jaxpr.eqns:
        site = Site(eqn, around.trips, around.certain, kernel_file, around, library)
        yield site
        name = eqn.primitive.name
        if name == "pallas_call" and not into_pallas:
            continue
        subs = sub_jaxprs(eqn)
        if not subs:
            continue
        inner = Site(
            eqn,
            around.trips * scan_trips(eqn),
            around.certain and name not in ("while", "cond"),
            kernel_file,
            around,
            library,
        )
        for sub in subs:
            # Everything inside a library function is at the line that calls it.
            hidden = library or (name in INLINED and not is_users_function(sub, kernel_file))
            yield from _walk(sub, inner, into_pallas=into_pallas, library=hidden)


def place_in(chain: Sequence[Any], root: Place | None, kernel_file: str) -> Place | None:
    """Return the user's place of the last of ``chain``, equations each inside the one before."""
    place = root
    for eqn in chain:
        place = place_of(eqn, kernel_file, place)
        inner = inner_jaxpr(eqn)
        if inner is not None and not is_users_function(inner, kernel_file):
            break
    return place
