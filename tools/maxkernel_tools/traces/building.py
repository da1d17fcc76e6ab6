"""Turns raw events of one core into modules and ops. Owns clocks, nesting and the assignment of ops to runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxkernel_tools.traces.events import Column, Events
from maxkernel_tools.traces.names import base_name, is_pallas, parameters, split_module
from maxkernel_tools.traces.nesting import self_times
from maxkernel_tools.traces.profile import OUTSIDE, Clock, Device, FlopsOrigin, Module, Op, Region


@dataclass(frozen=True, slots=True)
class OpFacts:
    """What all calls of an instruction share."""

    scope: str = ""
    category: str = ""
    hlo: str = ""
    shape: str = ""
    source: str = ""
    program_id: str = ""
    flops: int | None = None
    bytes: int | None = None


@dataclass(slots=True)
class CoreEvents:
    """All a reader found on one core; ``facts`` are indexed by ``Events.facts``."""

    core: int
    modules: Events
    ops: Events
    facts: Sequence[OpFacts]
    regions: Mapping[str, Events]


@dataclass(slots=True)
class _Runs:
    """Runs of modules in order of start, in columns; ``index`` counts the runs of one program."""

    programs: list[tuple[str, str]]
    program: Column
    index: Column
    starts: Column
    ends: Column
    ps: Column
    measured: bool
    timed: bool


def core_clock(core: CoreEvents) -> tuple[Clock, str]:
    """Return the clock a core's ops can be timed by and a warning where it is not the device's."""
    without = core.ops.untimed
    if not without:
        return "device", ""
    return "host", (
        f"core {core.core}: {without} of {len(core.ops)} ops lack device_duration_ps; times are by the host's clock, "
        "which stretches and shrinks the device's"
    )


def _runs(core: CoreEvents, clock: Clock) -> _Runs:
    """Return the runs; by the device's clock where both lanes have it."""
    events = core.modules
    timed = clock == "device" and not events.untimed
    starts, lengths = events.span(device=timed)
    split = [split_module(label) for label in events.labels]
    programs = list(dict.fromkeys(split))
    places = {program: at for at, program in enumerate(programs)}
    table = np.array([places[one] for one in split], np.int64)
    ranks = _ranks([name for name, _ in split])
    names = events.names
    order = np.lexsort((ranks[names] if len(names) else names, starts + lengths, starts))
    program = table[names[order]] if len(names) else names
    index = np.zeros(len(program), np.int64)
    for at in range(len(programs)):
        chosen = np.flatnonzero(program == at)
        index[chosen] = np.arange(len(chosen))
    starts, lengths = starts[order], lengths[order]
    return _Runs(programs, program, index, starts, starts + lengths, lengths, timed or clock == "host", timed)


def _ranks(names: Sequence[str]) -> Column:
    """Return where each name stands among all in alphabetical order."""
    places = {name: at for at, name in enumerate(sorted(set(names)))}
    return np.array([places[name] for name in names], np.int64)


def _find_runs(runs: _Runs, at: Column, wanted: Column) -> Column:
    """Return the run each op belongs to, -1 for none.

    Args:
        runs: in order of start.
        at: when each op started.
        wanted: its program as an index into ``runs.programs`` by fingerprint, -1 where it says none, -2 where unknown.
    """
    if not len(runs.starts):
        return np.full(len(at), -1, np.int64)
    found = np.searchsorted(runs.starts, at, side="right").astype(np.int64) - 1
    held = np.maximum(found, 0)
    found[(found < 0) | (at >= runs.ends[held] + 1)] = -1
    # At a boundary two runs touch; the op's own program decides.
    prints = np.array([_print_code(program) for _, program in runs.programs], np.int64)
    codes = prints[runs.program]
    before = np.maximum(held - 1, 0)
    other = (found > 0) & (wanted != -1) & (codes[held] != -1) & (codes[held] != wanted)
    other &= (codes[before] == wanted) & (at <= runs.ends[before] + 1)
    return np.where(other, before, found)


def _print_code(program: str) -> int:
    """Return a fingerprint as a number, -1 for none."""
    return -1 if not program else hash(program) & ((1 << 62) - 1)


def build_core(core: CoreEvents, clock: Clock, device: Device) -> tuple[list[Module], list[Op]]:
    """Normalise one core.

    Args:
        core: raw events.
        clock: the clock to time by, the same for all cores of a capture.
        device: for the peak that decides whether flops can be believed.
    """
    runs = _runs(core, clock)
    events = core.ops
    starts, lengths = events.span(device=clock == "device")
    ranks = _ranks(events.labels)
    order = np.lexsort((ranks[events.names] if len(events) else events.names, -lengths, starts))
    starts, lengths = starts[order], lengths[order]
    names, facts = events.names[order], events.facts[order]
    own, _ = self_times(starts, lengths)
    prints = np.array([_print_code(one.program_id) for one in core.facts], np.int64)
    run = _find_runs(runs, starts if runs.timed else events.host_start[order], prints[facts] if len(facts) else facts)
    program = np.where(run >= 0, runs.program[np.maximum(run, 0)], -1) if len(runs.starts) else run
    index = np.where(run >= 0, runs.index[np.maximum(run, 0)], 0) if len(runs.starts) else np.zeros_like(run)
    ops: list[Op] = []
    for chosen in _groups(program * max(1, len(events.labels)) + names):
        first = int(chosen[0])
        owner = int(program[first])
        key = runs.programs[owner] if owner >= 0 else (OUTSIDE, "")
        columns = _Columns(starts[chosen], index[chosen], own[chosen], lengths[chosen])
        place = core.core, key, events.labels[int(names[first])]
        ops.append(_op(place, core.facts[int(facts[first])], columns, device))
    overlaps = {
        key: self_times(starts[program == at], lengths[program == at])[1]
        for at, key in [*enumerate(runs.programs), (-1, (OUTSIDE, ""))]
    }
    return _modules(core.core, runs, ops, overlaps, _spanned(runs, run, starts, lengths)), ops


def _groups(keys: Column) -> list[Column]:
    """Return the places of each key, keys in order of first appearance."""
    if not len(keys):
        return []
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    return sorted(np.split(order, cuts), key=lambda places: int(places[0]))


def _spanned(runs: _Runs, run: Column, starts: Column, lengths: Column) -> Column:
    """Return the time from the first op of each run to its last."""
    count = len(runs.starts)
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    inside = run >= 0
    np.minimum.at(first, run[inside], starts[inside])
    np.maximum.at(last, run[inside], (starts + lengths)[inside])
    return np.where(first <= last, np.maximum(last - np.minimum(first, last), 0), 0)


def _modules(
    core: int, runs: _Runs, ops: Sequence[Op], overlaps: Mapping[tuple[str, str], int], spanned: Column
) -> list[Module]:
    times: dict[tuple[str, str], list[int]] = {}
    for at, length in zip(runs.program.tolist(), (runs.ps if runs.measured else spanned).tolist(), strict=True):
        times.setdefault(runs.programs[at], []).append(length)
    busy: dict[tuple[str, str], int] = {}
    shapes: dict[tuple[str, str], dict[str, str]] = {}
    for op in ops:
        key = (op.module, op.program_id)
        busy[key] = busy.get(key, 0) + op.self_ps
        shapes.setdefault(key, {}).update(parameters(op.hlo))
    outside = (OUTSIDE, "")
    if outside in busy:
        times[outside] = [busy[outside]]
    return [
        Module(
            name=name,
            program_id=program,
            core=core,
            run_ps=tuple(run_ps),
            idle_ps=sum(run_ps) - busy.get((name, program), 0),
            overlap_ps=overlaps.get((name, program), 0),
            parameters=shapes.get((name, program), {}),
        )
        for (name, program), run_ps in times.items()
    ]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Calls of one op, in device order."""

    starts: Column
    runs: Column
    own: Column
    totals: Column


def _op(place: tuple[int, tuple[str, str], str], facts: OpFacts, calls: _Columns, device: Device) -> Op:
    core, (module, program), name = place
    op = Op(
        module=module,
        program_id=program,
        core=core,
        name=name,
        base=base_name(name),
        scope=facts.scope,
        category=facts.category or "unknown",
        hlo=facts.hlo,
        shape=facts.shape,
        source=facts.source,
        calls=len(calls.own),
        self_ps=_total(calls.own),
        total_ps=_total(calls.totals),
        starts=_plain(calls.starts),
        runs=_plain(calls.runs),
        samples=_plain(calls.own),
        total_samples=_plain(calls.totals),
        bytes=facts.bytes,
        is_pallas=is_pallas(facts.category, facts.scope, facts.hlo),
    )
    return with_flops(op, facts.flops, device)


def _plain(column: Column) -> tuple[int, ...]:
    return tuple(column.tolist())


def _total(column: Column) -> int:
    """Sum without overflow: times are below 2**62, their sum need not be."""
    return sum(column.tolist())


def with_flops(op: Op, flops: int | None, device: Device) -> Op:
    """Return ``op`` with its flops, where they come from, and whether the rate is one the chip can reach.

    XLA believes a kernel's ``cost_estimate``: absent reads as 0 and is unknown, wrong is passed on.
    """
    origin: FlopsOrigin = "none"
    if op.is_pallas:
        origin = "cost-estimate" if flops else "none"
    elif flops is not None:
        origin = "hlo"
    if origin == "none":
        return replace(op, flops=None, flops_origin=origin)
    rate = (flops or 0) * op.calls / op.total_ps * 1e12 if op.total_ps else 0.0
    # A hundredth of grace: peaks are given rounded.
    trusted = device.peak_flops is None or rate <= device.peak_flops * 1.01
    return replace(op, flops=flops, flops_origin=origin, trusted=trusted)


def build_regions(core: CoreEvents) -> list[Region]:
    """Sum the lines inside kernels by name; they stay apart from ops."""
    regions: list[Region] = []
    for line, events in core.regions.items():
        lengths = np.where(events.timed, events.device_ps, events.host_ps)
        for chosen in _groups(events.names):
            name = events.labels[int(events.names[int(chosen[0])])]
            regions.append(Region(core.core, line, name, len(chosen), _total(lengths[chosen])))
    return regions
