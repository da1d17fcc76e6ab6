"""Collects everything the jaxpr of a kernel says into one plain dictionary (JSON types only).

The lab treats these facts as advice from a process that candidate code ran in; nothing here is a verdict.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from maxkernel_tools.records.kernels import CANDIDATE_FILE_NAME
from maxkernel_tools.worker.inspecting.bodies import body_facts
from maxkernel_tools.worker.inspecting.calls import Call, Operand, describe_call, item_bits
from maxkernel_tools.worker.inspecting.evaluating import grid_axes
from maxkernel_tools.worker.inspecting.flops import grid_flops, plain_flops
from maxkernel_tools.worker.inspecting.line_work import line_work
from maxkernel_tools.worker.inspecting.lines import Place
from maxkernel_tools.worker.inspecting.normalising import program_sha256
from maxkernel_tools.worker.inspecting.observing import observations
from maxkernel_tools.worker.inspecting.outputs import calls_on_output_path, outputs_without_pallas, returned_whole
from maxkernel_tools.worker.inspecting.walking import Site, walk

_CALLBACKS = frozenset(
    {
        "pure_callback",
        "io_callback",
        "debug_callback",
        "python_callback",
        "host_callback",
        "outside_call",
        "debug_print",
        "infeed",
        "outfeed",
    }
)


def jaxpr_facts(closed_jaxpr: Any, kernel_file: str = CANDIDATE_FILE_NAME) -> dict[str, Any]:
    """Return what the jaxpr says: every ``pallas_call`` with its exact transfers, work inside and outside, callbacks.

    Args:
        closed_jaxpr: the traced entry (``jax.jit(workload).trace(...).jaxpr``).
        kernel_file: the name the kernel was loaded under; lines are lines of this file.
    """
    jaxpr = closed_jaxpr.jaxpr
    sites = list(walk(jaxpr, kernel_file))
    calls = [
        describe_call(s.eqn, kernel_file, s.place, s.trips) for s in sites if s.eqn.primitive.name == "pallas_call"
    ]
    on_path = calls_on_output_path(jaxpr)
    whole = returned_whole(jaxpr)
    described: list[dict[str, Any]] = []
    inside: list[Site] = []
    for call in calls:
        body = list(walk(call.body, kernel_file, place=call.place, into_pallas=True))
        inside.extend(body)
        described.append(
            {
                **_call_facts(call, id(call.eqn) in on_path),
                **body_facts(body),
                "line_work": _line_work(call, kernel_file),
                "observations": observations(call, body, kernel_file, whole.get(id(call.eqn), set())),
            }
        )
    callbacks = [
        {"primitive": s.eqn.primitive.name, "line": None if s.place is None else s.place.line}
        for s in (*sites, *inside)
        if s.eqn.primitive.name in _CALLBACKS
    ]
    return {
        "pallas_calls": described,
        "flops_inside": sum((facts["flops"] or 0) * facts["trips"] for facts in described),
        "flops_outside": plain_flops(jaxpr),
        "callbacks": callbacks,
        "constant_bytes": sum(int(getattr(const, "nbytes", 0)) for const in closed_jaxpr.consts),
        "outputs_without_pallas": outputs_without_pallas(jaxpr),
        "equations": len(sites),
        "program_sha256": program_sha256(jaxpr, [call.eqn for call in calls], len(sites) + len(inside)),
    }


def place_facts(place: Place | None) -> dict[str, Any]:
    """Return a place as ``line``, and ``file`` where it is not the kernel's own."""
    if place is None:
        return {"line": None}
    return {"line": place.line, "file": place.file}


def _call_facts(call: Call, on_path: bool) -> dict[str, Any]:
    return {
        "name": call.name,
        "given_name": call.given_name,
        "function": None if call.function is None else call.function.function,
        "function_line": None if call.function is None else call.function.line,
        "grid": list(call.grid),
        "dimension_semantics": None if call.semantics is None else list(call.semantics),
        "vmem_limit_bytes": call.vmem_limit_bytes,
        "cost_estimate": None if call.cost is None else dict(call.cost),
        "interpret": call.interpret,
        "num_scalar_prefetch": sum(1 for operand in call.operands if operand.kind == "prefetch"),
        "aliases": {str(source): out for source, out in call.aliases.items()},
        "trips": call.trips,
        "on_output_path": on_path,
        "flops": _flops(call),
        "operands": [operand_facts(operand) for operand in call.operands],
        **place_facts(call.place),
    }


def operand_facts(operand: Operand) -> dict[str, Any]:
    """Return one operand; ``fetch_bytes`` counts what lies inside the array, without tile padding."""
    over = operand.visits
    elements = None if over is None else over.elements
    return {
        "name": operand.name,
        "argument": operand.argument,
        "kind": operand.kind,
        "array": operand.array,
        "block": list(operand.block),
        "memory_space": operand.space,
        "buffers": operand.buffers,
        "fetches": None if over is None else over.fetches,
        "fetch_bytes": None if elements is None else elements * item_bits(operand.dtype) // 8,
        "index_map": {
            "constant": bool(over is not None and over.constant),
            "depends_on": [] if over is None else list(over.depends_on),
        },
        "origin": operand.origin,
        "index_map_line": None if operand.place is None else operand.place.line,
    }


def _flops(call: Call) -> int | None:
    grid = call.static_grid
    if grid is None:
        return None
    return round(grid_flops(call.body, _axes(grid), grid) * prod(grid))


def _line_work(call: Call, kernel_file: str) -> list[dict[str, Any]]:
    grid = call.static_grid
    return [] if grid is None else line_work(call.body, _axes(grid), grid, kernel_file)


def _axes(grid: tuple[int, ...]) -> dict[int, Any]:
    return dict(grid_axes(grid)) if prod(grid) <= 1 << 20 else {axis: np.int64(0) for axis in range(len(grid))}
