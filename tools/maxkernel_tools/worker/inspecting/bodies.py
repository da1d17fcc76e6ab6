"""Reads single equations of a kernel body: the large values it computes, constructs known to break compilers."""

from __future__ import annotations

from math import prod
from typing import Any

from maxkernel_tools.worker.inspecting.calls import dtype_name, item_bits
from maxkernel_tools.worker.inspecting.walking import Site

_KEPT = 5
# Results of these are views or are fused into their users; they take no buffer of their own worth naming.
_NOT_STORED = frozenset({"broadcast_in_dim", "reshape", "squeeze", "iota", "transpose", "convert_element_type", "swap"})


def body_facts(sites: list[Site]) -> dict[str, Any]:
    """Return ``temporaries``, ``suspects``, ``equations`` and ``primitive_lines`` of a body."""
    return {
        "temporaries": _temporaries(sites),
        "suspects": _suspects(sites),
        "equations": len(sites),
        "primitive_lines": _first_lines(sites),
    }


def _first_lines(sites: list[Site]) -> dict[str, int]:
    """Where each primitive is used first."""
    first: dict[str, Site] = {}
    for site in sites:
        first.setdefault(site.eqn.primitive.name, site)
    return {name: site.place.line for name, site in first.items() if site.place is not None}


def _temporaries(sites: list[Site]) -> list[dict[str, Any]]:
    found: list[tuple[int, Site, str]] = []
    for site in sites:
        if site.eqn.primitive.name in _NOT_STORED or site.eqn.primitive.name == "get":
            continue
        for variable in site.eqn.outvars:
            shape = tuple(int(extent) for extent in getattr(variable.aval, "shape", ()))
            if not shape:
                continue
            dtype = dtype_name(variable.aval.dtype)
            size = prod(shape) * item_bits(dtype) // 8
            found.append((size, site, f"{dtype}[{','.join(map(str, shape))}]"))
    found.sort(key=lambda entry: -entry[0])
    return [
        {
            "array": array,
            "bytes": size,
            "line": None if site.place is None else site.place.line,
            "primitive": site.eqn.primitive.name,
        }
        for size, site, array in found[:_KEPT]
    ]


def _suspects(sites: list[Site]) -> list[dict[str, Any]]:
    """Boolean vectors that gain a dimension: ``m[:, None]`` of a mask, which aborts some compilers."""
    found: list[dict[str, Any]] = []
    for site in sites:
        eqn = site.eqn
        if eqn.primitive.name not in ("broadcast_in_dim", "reshape", "expand_dims", "transpose"):
            continue
        before, after = eqn.invars[0].aval, eqn.outvars[0].aval
        if dtype_name(getattr(before, "dtype", "")) != "pred" or not before.shape or before.shape == after.shape:
            continue
        found.append(
            {
                "kind": "mask-reshape",
                "detail": f"{_text(before)} -> {_text(after)}",
                "line": None if site.place is None else site.place.line,
            }
        )
    return found[:_KEPT]


def _text(aval: Any) -> str:
    return f"({', '.join(map(str, aval.shape))})"
