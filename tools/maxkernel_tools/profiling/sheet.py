"""A schedule profile in figures, for comparing it with another: per program, unit, op, stretch of bundles and operand.

Static figures (bundles, spills, VMEM) are the compiler's; trip counts and DMA bytes follow from its control flow;
times and waits are the schedule model's estimates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maxkernel_tools.chips import chip
from maxkernel_tools.profiling.model import Estimate
from maxkernel_tools.records.targets import Target
from maxkernel_tools.schedule.program import OpRun

FORMAT = 1
_MAX_REGIONS = 400
_ROLES = {"LB": "loop body", "PF": "after a predicated region", "PB": "predicated region", "LE": "after a loop"}


def schedule_sheet(made: Estimate, target: Target, versions: Mapping[str, str]) -> str:
    """Return the figures as JSON; times in µs, sizes in bytes, shares of 1."""
    to_us = 1e6 / chip(target).clock_hz
    profile = made.profile
    ops = [_op(op, made, to_us) for op in made.run.ops.values() if op.run]
    shared = {op.schedule for op in made.run.ops.values() if op.run and op.schedule}
    program = {
        "time_us": profile.time_us,
        "compute_floor_us": profile.compute_floor_us,
        "transfer_floor_us": profile.transfer_floor_us,
        "hbm_bytes": profile.hbm_bytes,
        "flops": profile.flops,
        "bundles": sum(made.program.listings[name].bundles for name in shared),
        "spill_slots": profile.spill_slots,
        "dma_wait_share": profile.dma_wait_fraction,
        "vmem_bytes": profile.vmem_bytes,
    }
    regions = [region for op in made.run.ops.values() for region in _regions(op, made, to_us)]
    regions.sort(key=lambda region: -region["time_us"])
    return json.dumps(
        {
            "format": FORMAT,
            "target": target.value,
            "versions": dict(versions),
            "interval_us": profile.interval_us,
            "bound_by": profile.bound_by,
            "program": program,
            "units": profile.units.model_dump(),
            "ops": ops,
            "regions": sorted(regions[:_MAX_REGIONS], key=lambda region: (region["op"], region["first"])),
            "operands": [
                {"operand": row.operand, "fetches": row.fetches, "hbm_bytes": row.hbm_bytes} for row in profile.traffic
            ],
        }
    )


def _op(op: OpRun, made: Estimate, to_us: float) -> dict[str, Any]:
    known = made.module.all_ops.get(op.name)
    listing = made.program.listings.get(op.schedule or "")
    tally = made.tallies.get(op.schedule or "")
    held = made.vmem.get(op.schedule or "")
    run = op.run
    if run is None:
        return {}
    return {
        "name": op.name,
        "line": known.line if known else None,
        "calls": op.calls,
        "time_us": op.cycles * to_us,
        "bundles": listing.bundles if listing else None,
        "issue_cycles": run.issue_cycles * op.calls,
        "wait_us": sum(run.waits.values()) * op.calls * to_us,
        "dma_read_bytes": run.read_bytes * op.calls,
        "dma_write_bytes": run.write_bytes * op.calls,
        "spill_slots": tally.spills * op.calls if tally else None,
        "vmem_bytes": sum(one.nbytes for one in held) if held else None,
    }


def _regions(op: OpRun, made: Estimate, to_us: float) -> list[dict[str, Any]]:
    run, listing = op.run, made.program.listings.get(op.schedule or "")
    if run is None or listing is None:
        return []
    found: list[dict[str, Any]] = []
    for (first, stop), times in sorted(run.counts.items()):
        waited = sum(spent for bundle, spent in run.waits.items() if first <= bundle < stop)
        moved = sum(both[1] for bundle, both in run.transfers.items() if first <= bundle < stop)
        found.append(
            {
                "op": op.name,
                "role": _ROLES.get(listing.labels.get(first, ""), "stretch"),
                "first": first,
                "times": times,
                "bundles": stop - first,
                "time_us": (times * (stop - first) + waited) * to_us,
                "wait_us": waited * to_us,
                "dma_bytes": moved,
            }
        )
    return found
