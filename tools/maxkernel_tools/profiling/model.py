"""The schedule model: dumps and facts in, one side's profile out. XLA modules and Pallas kernels go the same way.

A time here is an estimate with an interval, never a measurement. What it rests on: the schedule's own control flow and
transfers (``maxkernel_tools.schedule``) and a few physical constants per chip (``maxkernel_tools.chips``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maxkernel_tools.chips import Chip, chip
from maxkernel_tools.profiling.aliases import deduplicated
from maxkernel_tools.profiling.bounds import bound_of
from maxkernel_tools.profiling.hot_lines import hot_lines
from maxkernel_tools.profiling.intervals import interval
from maxkernel_tools.profiling.parts import region_times
from maxkernel_tools.profiling.traffic import operand_traffic
from maxkernel_tools.profiling.units import UnitTally, tally
from maxkernel_tools.records.profiles import SideProfile
from maxkernel_tools.records.results import PartTime, UnitUse
from maxkernel_tools.records.targets import Target
from maxkernel_tools.schedule.dumps import TOP_LEVEL, DumpFolder
from maxkernel_tools.schedule.engine import Clockwork
from maxkernel_tools.schedule.hlo import HloModule, parse_hlo
from maxkernel_tools.schedule.program import OpRun, Program, ProgramRun
from maxkernel_tools.schedule.regions import Allocation, outer_trips, vmem_allocations
from maxkernel_tools.schedule.unknown import UnknownFormatError

MAX_PARTS = 24
"""Ops and regions listed in a profile; the rest is summed up in one line."""


@dataclass(frozen=True)
class Estimate:
    """A profile and what it was made from, for artifacts and plots."""

    profile: SideProfile
    program: Program
    run: ProgramRun
    module: HloModule
    tallies: dict[str, UnitTally]
    vmem: dict[str, tuple[Allocation, ...]]


def estimate(dump_dir: Path, hlo_text: str, facts: Mapping[str, Any], target: Target) -> SideProfile:
    """Predict the device time of one compiled program.

    Args:
        dump_dir: folder of the compiler's dumps.
        hlo_text: optimised HLO, used where the dumps hold none.
        facts: what tracing found (``TraceReply.facts``); may be empty.
        target: the chip the program was compiled for.

    Raises:
        UnknownFormatError: there is no schedule, or none this version can read.
    """
    return analyse(dump_dir, hlo_text, facts, target).profile


def clockwork_for(facts: Chip) -> Clockwork:
    """Return a fresh clock of one core of the chip; cores of a device share its HBM bandwidth."""
    return Clockwork(
        bytes_per_cycle=facts.hbm_achievable_bytes_per_s / facts.cores / facts.clock_hz,
        latency_cycles=facts.dma_latency_us * 1e-6 * facts.clock_hz,
        local_bytes_per_cycle=facts.vmem_bytes_per_cycle,
        write_piece_cycles=facts.write_piece_ns * 1e-9 * facts.clock_hz,
    )


def analyse(dump_dir: Path, hlo_text: str, facts: Mapping[str, Any], target: Target) -> Estimate:
    """Like ``estimate``, and keep the runs behind the figures."""
    hardware = chip(target)
    folder = DumpFolder.open(dump_dir)
    if not folder.has(TOP_LEVEL, "final_bundles"):
        raise UnknownFormatError("final_bundles", "the top level has no schedule")
    module = parse_hlo(folder.text(TOP_LEVEL, "hlo") if folder.has(TOP_LEVEL, "hlo") else hlo_text)
    program = Program(folder, deduplicated(folder, module))
    run = program.run(clockwork_for(hardware), outer_trips(folder))
    tallies = {
        name: made
        for name in dict.fromkeys(op.schedule for op in run.ops.values() if op.schedule and op.run)
        if (made := tally(program, name, run, hardware)) is not None
    }
    vmem = {name: vmem_allocations(folder.text(name, "post_ra")) for name in tallies if folder.has(name, "post_ra")}
    profile = _profile(hardware, module, run, tallies, facts)
    held = max((sum(one.nbytes for one in items) for items in vmem.values()), default=None)
    profile = profile.model_copy(update={"vmem_bytes": held, "regions": _regions(program, run, tallies, hardware)})
    return Estimate(profile, program, run, module, tallies, vmem)


def _profile(
    hardware: Chip,
    module: HloModule,
    run: ProgramRun,
    tallies: dict[str, UnitTally],
    facts: Mapping[str, Any],
) -> SideProfile:
    to_us = 1e6 / hardware.clock_hz
    time_us = run.cycles * to_us + hardware.launch_us
    issue = sum(op.run.issue_cycles * op.calls for op in run.ops.values() if op.run)
    stalled = sum(sum(op.run.waits.values()) * op.calls for op in run.ops.values() if op.run)
    flops = _flops(facts)
    must_move = min(module.argument_bytes + module.output_bytes, run.hbm_bytes)
    peak_dtype = _matmul_dtype(module)
    roofline = max((flops or 0) / hardware.peak_for(peak_dtype), must_move / hardware.hbm_bytes_per_s) * 1e6
    notes = _notes(run, hardware)
    if time_us < roofline:
        notes.append(f"The schedule alone came to {time_us:.2f} µs, below the roofline; the roofline is reported.")
        time_us = roofline
    units = _units(run, tallies, time_us / to_us)
    parts = _ops(run, module, tallies, to_us, time_us)
    calls: list[dict[str, Any]] = facts.get("pallas_calls") or []
    limits = [call["vmem_limit_bytes"] for call in calls if call.get("vmem_limit_bytes")]
    return SideProfile(
        time_us=time_us,
        time_source="schedule-model",
        interval_us=interval(time_us, roofline, run, units, hardware, hoped_bytes=_hoped_bytes(module, run)),
        bound_by=parts[0].bound_by
        if parts and parts[0].share > 0.5
        else bound_of(run, tallies, hardware, time_us / to_us),
        compute_floor_us=issue * to_us,
        transfer_floor_us=run.hbm_bytes / hardware.hbm_achievable_bytes_per_s * 1e6,
        roofline_us=roofline,
        roofline_fraction=roofline / time_us if time_us else None,
        hbm_bytes=round(run.hbm_bytes),
        flops=flops,
        units=units,
        ops=tuple(parts),
        lines=hot_lines(run, module, tallies, calls, to_us=to_us, time_us=time_us),
        traffic=operand_traffic(calls),
        spill_slots=round(sum(made.spills for made in tallies.values())),
        dma_wait_fraction=min(1.0, stalled * to_us / time_us) if time_us else None,
        vmem_limit_bytes=max(limits) if limits else hardware.scoped_vmem_bytes,
        notes=tuple(notes),
    )


def _regions(program: Program, run: ProgramRun, tallies: dict[str, UnitTally], hardware: Chip) -> tuple[PartTime, ...]:
    """Stretches of the op that takes longest."""
    hottest = max((op for op in run.ops.values() if op.run), key=lambda op: op.cycles, default=None)
    made = tallies.get(hottest.schedule or "") if hottest else None
    if hottest is None or hottest.run is None or hottest.schedule is None or made is None:
        return ()
    listing = program.listings[hottest.schedule]
    return region_times(hottest.name, listing, hottest.run, made, 1e6 / hardware.clock_hz)


def _hoped_bytes(module: HloModule, run: ProgramRun) -> int:
    """Bytes of arguments taken as prefetched into VMEM before the program starts."""
    if run.top is None or not run.top.unknown_transfers:
        return 0
    return sum(op.arrays[0].nbytes for op in module.entry_ops if op.prefetched and op.arrays)


def _flops(facts: Mapping[str, Any]) -> int | None:
    known = [facts.get("flops_inside"), facts.get("flops_outside")]
    return sum(int(value) for value in known if value) if any(value is not None for value in known) else None


def _matmul_dtype(module: HloModule) -> str:
    dtypes = {array.dtype for op in module.entry_ops if op.opcode == "parameter" for array in op.arrays}
    return "bf16" if "bf16" in dtypes or not dtypes else min(dtypes)


def _notes(run: ProgramRun, hardware: Chip) -> list[str]:
    notes: list[str] = []
    if run.missing:
        notes.append("No schedule was found for: " + ", ".join(run.missing[:8]) + "; their time is not included.")
    unknown = [op.name for op in run.ops.values() if op.run and op.run.unknown_branches]
    if unknown:
        notes.append("Branches on data are counted as taken once in: " + ", ".join(unknown[:8]) + ".")
    if any(op.run and op.run.truncated for op in run.ops.values()):
        notes.append("A long schedule was run in part and extrapolated from its steady state.")
    if run.top is not None and run.top.unknown_transfers:
        notes.append("An argument prefetched into VMEM by the previous run of the program is counted as already there.")
    if hardware.cores > 1:
        notes.append("Both cores of the device are assumed to run the same schedule on their halves.")
    return notes


def _units(run: ProgramRun, tallies: dict[str, UnitTally], cycles: float) -> UnitUse:
    totals: dict[str, float] = {}
    for op in run.ops.values():
        made = tallies.get(op.schedule or "")
        if made is not None:
            for unit, busy in made.busy.items():
                totals[unit] = totals.get(unit, 0.0) + busy * op.calls
    shares = {unit: min(1.0, busy / cycles) for unit, busy in totals.items()} if cycles else {}
    return UnitUse(**shares, dma=min(1.0, run.dma_busy_cycles / cycles) if cycles else 0.0)


def _ops(
    run: ProgramRun, module: HloModule, tallies: dict[str, UnitTally], to_us: float, time_us: float
) -> list[PartTime]:
    parts = [_part(op, module, tallies, to_us, time_us) for op in run.ops.values() if op.run]
    parts.sort(key=lambda part: -part.time_us)
    rest = parts[MAX_PARTS:]
    if rest:
        spent = sum(part.time_us for part in rest)
        parts = [*parts[:MAX_PARTS], PartTime(name=f"{len(rest)} more", time_us=spent, share=spent / time_us)]
    return parts


def _part(op: OpRun, module: HloModule, tallies: dict[str, UnitTally], to_us: float, time_us: float) -> PartTime:
    known = module.all_ops.get(op.name)
    spent = op.cycles * to_us
    made = tallies.get(op.schedule or "")
    return PartTime(
        name=op.name,
        time_us=spent,
        share=min(1.0, spent / time_us) if time_us else 0.0,
        bound_by=made.bound_by(op) if made else "unknown",
        line=known.line if known else None,
    )
