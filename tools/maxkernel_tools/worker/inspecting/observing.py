"""Gathers what grid, simulation and data flow observe about one ``pallas_call``, and what its equations show alone."""

from __future__ import annotations

from typing import Any

from jax._src import core

from maxkernel_tools.worker.inspecting.calls import Call, dtype_name
from maxkernel_tools.worker.inspecting.coverage import coverage
from maxkernel_tools.worker.inspecting.dataflow import DataFlow
from maxkernel_tools.worker.inspecting.simulating import simulate
from maxkernel_tools.worker.inspecting.walking import Site

_RANDOM = frozenset({"prng_random_bits", "prng_seed"})


def observations(call: Call, sites: list[Site], kernel_file: str, whole_outputs: set[int]) -> list[dict[str, Any]]:
    """Return everything observed, as plain dictionaries with ``kind`` and, where known, ``line``."""
    found = coverage(call, whole_outputs)
    if any(entry["kind"] == "empty-grid" for entry in found):
        return found
    outside = any(entry["kind"] == "block-outside" for entry in found)
    if not outside:
        for seen in simulate(call, kernel_file):
            number = int(seen.operand[3:]) if seen.operand.startswith("out") and seen.operand[3:].isdigit() else None
            found.append(
                {
                    "kind": seen.kind,
                    "line": None if seen.place is None else seen.place.line,
                    "operand": seen.operand,
                    "argument": seen.argument,
                    "aliased": number is not None and number in call.aliases.values(),
                    "returned_whole": number is not None and number in whole_outputs,
                    **seen.detail,
                }
            )
    found.extend(DataFlow(call, kernel_file).run())
    found.extend(_equations(sites))
    return found


def _equations(sites: list[Site]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for site in sites:
        name = site.eqn.primitive.name
        if name == "dot_general" and _is_default_f32(site.eqn):
            found.append({"kind": "default-precision", "line": _line(site)})
        elif name in _RANDOM:
            found.append({"kind": "random-bits", "line": _first_use(site, sites) or _line(site), "drawn": _line(site)})
    random = [entry for entry in found if entry["kind"] == "random-bits"]
    drawn = [entry for entry in random if entry["line"] != entry["drawn"]] or random
    return [entry for entry in found if entry["kind"] != "random-bits"] + drawn[:1]


def _is_default_f32(eqn: Any) -> bool:
    if any(dtype_name(getattr(atom.aval, "dtype", "")) != "f32" for atom in eqn.invars[:2]):
        return False
    precision = eqn.params.get("precision")
    items = precision if isinstance(precision, tuple) else (precision,)
    return all(item is None or str(getattr(item, "name", item)).upper() == "DEFAULT" for item in items)


def _first_use(site: Site, sites: list[Site]) -> int | None:
    """The line where what ``site`` computes is first used: what follows it depends on it."""
    produced = set(site.eqn.outvars)
    for other in sites:
        if any(not isinstance(atom, core.Literal) and atom in produced for atom in other.eqn.invars):
            return _line(other)
    return None


def _line(site: Site) -> int | None:
    return None if site.place is None else site.place.line
