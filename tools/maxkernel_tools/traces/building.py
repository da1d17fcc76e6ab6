"""Turns raw events of one core into modules and ops. Owns clocks, nesting and the assignment of ops to runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from maxkernel_tools.traces.names import base_name, is_pallas, parameters, split_module
from maxkernel_tools.traces.nesting import self_times
from maxkernel_tools.traces.profile import OUTSIDE, Clock, Device, FlopsOrigin, Module, Op, Region


@dataclass(slots=True)
class RawEvent:
    """One event as a reader found it: by the host's clock, and by the device's where the capture says so."""

    name: str
    host_start: int
    host_ps: int
    device_start: int | None
    device_ps: int | None
    facts: int = 0


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
    """All a reader found on one core; ``facts`` are indexed by ``RawEvent.facts``."""

    core: int
    modules: list[RawEvent]
    ops: list[RawEvent]
    facts: Sequence[OpFacts]
    regions: Mapping[str, list[RawEvent]]


@dataclass(slots=True)
class _Run:
    module: str
    program_id: str
    index: int
    start: int
    end: int
    ps: int | None
    first: int | None = None
    last: int = 0


def _on_device(events: Sequence[RawEvent]) -> bool:
    return all(event.device_start is not None and event.device_ps is not None for event in events)


def core_clock(core: CoreEvents) -> tuple[Clock, str]:
    """Return the clock a core's ops can be timed by and a warning where it is not the device's."""
    if _on_device(core.ops):
        return "device", ""
    without = sum(1 for op in core.ops if op.device_ps is None or op.device_start is None)
    return "host", (
        f"core {core.core}: {without} of {len(core.ops)} ops lack device_duration_ps; times are by the host's clock, "
        "which stretches and shrinks the device's"
    )


def _runs(core: CoreEvents, clock: Clock) -> tuple[list[_Run], bool]:
    """Return the runs of modules in order of start, and whether ops are found in them by the device's clock."""
    timed = clock == "device" and _on_device(core.modules)
    counts: dict[tuple[str, str], int] = {}
    runs: list[_Run] = []
    for event in core.modules:
        name, program = split_module(event.name)
        start = (event.device_start if timed else event.host_start) or 0
        length = (event.device_ps if timed else event.host_ps) or 0
        known = length if timed or clock == "host" else None
        runs.append(_Run(name, program, 0, start, start + length, known))
    runs.sort(key=lambda run: (run.start, run.end, run.module))
    for run in runs:
        key = (run.module, run.program_id)
        run.index = counts.get(key, 0)
        counts[key] = run.index + 1
    return runs, timed


def _find_run(runs: Sequence[_Run], starts: Sequence[int], at: int, program: str) -> _Run | None:
    position = bisect_right(starts, at) - 1
    if position < 0 or at >= runs[position].end + 1:
        return None
    run = runs[position]
    # At a boundary two runs touch; the op's own program decides.
    if program and run.program_id and run.program_id != program and position > 0:
        before = runs[position - 1]
        if before.program_id == program and at <= before.end + 1:
            return before
    return run


@dataclass(slots=True)
class _Gathered:
    facts: OpFacts
    starts: list[int]
    runs: list[int]
    own: list[int]
    totals: list[int]


def build_core(core: CoreEvents, clock: Clock, device: Device) -> tuple[list[Module], list[Op]]:
    """Normalise one core.

    Args:
        core: raw events.
        clock: the clock to time by, the same for all cores of a capture.
        device: for the peak that decides whether flops can be believed.
    """
    runs, timed = _runs(core, clock)
    run_starts = [run.start for run in runs]
    ordered = sorted(core.ops, key=lambda op: (*_span(op, clock, ordering=True), op.name))
    spans = [_span(op, clock) for op in ordered]
    own, _ = self_times(spans)
    gathered: dict[tuple[str, str, str], _Gathered] = {}
    per_module: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for event, (start, length), mine in zip(ordered, spans, own, strict=True):
        facts = core.facts[event.facts]
        run = _find_run(runs, run_starts, start if timed else event.host_start, facts.program_id)
        key = (run.module, run.program_id) if run else (OUTSIDE, "")
        if run:
            run.first = start if run.first is None else run.first
            run.last = max(run.last, start + length)
        per_module.setdefault(key, []).append((start, length))
        one = gathered.get((key[0], key[1], event.name))
        if one is None:
            one = gathered[key[0], key[1], event.name] = _Gathered(facts, [], [], [], [])
        one.starts.append(start)
        one.runs.append(run.index if run else 0)
        one.own.append(mine)
        one.totals.append(length)
    ops = [_op(core.core, key, one, device) for key, one in gathered.items()]
    return _modules(core.core, runs, ops, per_module), ops


def _span(event: RawEvent, clock: Clock, *, ordering: bool = False) -> tuple[int, int]:
    start, length = event.host_start, event.host_ps
    if clock == "device" and event.device_start is not None and event.device_ps is not None:
        start, length = event.device_start, event.device_ps
    return (start, -length) if ordering else (start, length)


def _modules(
    core: int, runs: Sequence[_Run], ops: Sequence[Op], spans: Mapping[tuple[str, str], list[tuple[int, int]]]
) -> list[Module]:
    times: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        length = run.ps
        if length is None:
            length = run.last - run.first if run.first is not None else 0
        times.setdefault((run.module, run.program_id), []).append(length)
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
            overlap_ps=self_times(spans.get((name, program), []))[1],
            parameters=shapes.get((name, program), {}),
        )
        for (name, program), run_ps in times.items()
    ]


def _op(core: int, key: tuple[str, str, str], one: _Gathered, device: Device) -> Op:
    module, program, name = key
    facts = one.facts
    pallas = is_pallas(facts.category, facts.scope, facts.hlo)
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
        calls=len(one.own),
        self_ps=sum(one.own),
        total_ps=sum(one.totals),
        starts=tuple(one.starts),
        runs=tuple(one.runs),
        samples=tuple(one.own),
        total_samples=tuple(one.totals),
        bytes=facts.bytes,
        is_pallas=pallas,
    )
    return with_flops(op, facts.flops, device)


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
        totals: dict[str, tuple[int, int]] = {}
        for event in events:
            calls, ps = totals.get(event.name, (0, 0))
            totals[event.name] = (calls + 1, ps + (event.host_ps if event.device_ps is None else event.device_ps))
        regions.extend(Region(core.core, line, name, calls, ps) for name, (calls, ps) in totals.items())
    return regions
