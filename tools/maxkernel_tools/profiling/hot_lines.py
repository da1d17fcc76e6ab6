"""The hottest source lines of a program: which lines its time belongs to.

An XLA op has one line, the compiler's own. The compiler keeps no lines inside a Pallas kernel; there the busy time of
each unit is shared out among the lines by what they ask of that unit (``line_work`` of the trace), and stalls on
transfers go to the line of the ``pallas_call``, or to the kernel's own waits where it has some.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from maxkernel_tools.profiling.units import UnitTally
from maxkernel_tools.records.results import BoundBy, PartTime
from maxkernel_tools.schedule.hlo import HloModule
from maxkernel_tools.schedule.program import OpRun, ProgramRun

MAX_LINES = 12

_Shares = dict[tuple[int, BoundBy], float]
_UNITS: Final[dict[str, BoundBy]] = {
    "mxu": "mxu",
    "vpu": "vpu",
    "xlu": "xlu",
    "eup": "eup",
    "load": "load",
    "store": "store",
    "scalar": "scalar",
}


def hot_lines(
    run: ProgramRun,
    module: HloModule,
    tallies: Mapping[str, UnitTally],
    calls: Sequence[Mapping[str, Any]],
    *,
    to_us: float,
    time_us: float,
) -> tuple[PartTime, ...]:
    """Return the lines most time belongs to, each with what keeps it; empty where no line is known.

    Args:
        run: the program's run.
        module: its HLO, for the line of each op.
        tallies: unit use by schedule.
        calls: the trace's facts of each ``pallas_call``.
        to_us: µs per cycle.
        time_us: the whole time, for shares.
    """
    spent: dict[int, dict[BoundBy, float]] = defaultdict(lambda: defaultdict(float))
    for op in run.ops.values():
        known = module.all_ops.get(op.name)
        if op.run is None or known is None:
            continue
        call = _call_of(op.name, calls) if known.opcode == "custom-call" else None
        made = tallies.get(op.schedule or "")
        shares: _Shares = _inside(op, call, made) if call is not None and made is not None else {}
        if not shares and known.line:
            shares = {(known.line, made.bound_by(op) if made else "unknown"): 1.0}
        for (line, kind), share in shares.items():
            spent[line][kind] += share * op.cycles * to_us
    parts = [
        PartTime(
            name=f"line {line}",
            time_us=sum(kinds.values()),
            share=min(1.0, sum(kinds.values()) / time_us) if time_us else 0.0,
            bound_by=max(kinds, key=lambda kind: kinds[kind]),
            line=line,
        )
        for line, kinds in spent.items()
    ]
    return tuple(sorted(parts, key=lambda part: -part.time_us)[:MAX_LINES])


def _call_of(op: str, calls: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the traced call an op runs: by its name, or the only one there is."""
    stem = op.partition(".")[0]
    named = [call for call in calls if stem in {call.get("name"), call.get("given_name")}]
    if named:
        return named[0] if len(named) == 1 else None
    return calls[0] if len(calls) == 1 else None


def _inside(op: OpRun, call: Mapping[str, Any], made: UnitTally) -> _Shares:
    """Share the time of one kernel out among its lines; shares add up to 1."""
    run = op.run
    work: Sequence[Mapping[str, Any]] = call.get("line_work") or ()
    if run is None or not run.cycles or not work:
        return {}
    stalled = min(1.0, sum(run.waits.values()) / run.cycles)
    known = {entry["unit"] for entry in work}
    busy = {unit: cycles for unit, cycles in made.busy.items() if cycles > 0 and unit in known}
    total = sum(busy.values())
    shares: _Shares = defaultdict(float)
    waits = [entry for entry in work if entry["unit"] == "dma"]
    kind: BoundBy = "dma-in" if run.read_bytes >= run.write_bytes else "dma-out"
    for entry in waits:
        shares[int(entry["line"]), kind] += stalled * entry["work"] / sum(one["work"] for one in waits)
    if not waits and stalled and call.get("line"):
        shares[int(call["line"]), kind] += stalled
    for unit, cycles in busy.items():
        asked = [entry for entry in work if entry["unit"] == unit]
        whole = sum(entry["work"] for entry in asked)
        for entry in asked:
            part = (1.0 - stalled) * cycles / total * entry["work"] / whole
            shares[int(entry["line"]), _UNITS[unit]] += part
    return dict(shares)
