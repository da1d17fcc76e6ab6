"""What bounds a whole program."""

from __future__ import annotations

from maxkernel_tools.chips import Chip
from maxkernel_tools.profiling.units import UnitTally
from maxkernel_tools.records.results import BoundBy
from maxkernel_tools.schedule.program import ProgramRun


def bound_of(run: ProgramRun, tallies: dict[str, UnitTally], hardware: Chip, cycles: float) -> BoundBy:
    """Return the bound that the most time is spent under; ``launch`` where the fixed cost is most of it.

    Args:
        run: the program's run.
        tallies: unit use by schedule.
        hardware: the chip.
        cycles: the whole time, in cycles, launch included.
    """
    if hardware.launch_us * 1e-6 * hardware.clock_hz > 0.5 * cycles:
        return "launch"
    spent: dict[BoundBy, float] = {}
    for op in run.ops.values():
        made = tallies.get(op.schedule or "")
        kind: BoundBy = made.bound_by(op) if made else "unknown"
        spent[kind] = spent.get(kind, 0.0) + op.cycles
    outside = cycles - sum(spent.values())
    if outside > 0.5 * cycles:
        return "dma-in" if run.top is not None and sum(run.top.waits.values()) > 0.5 * outside else "latency"
    return max(spent.items(), key=lambda item: item[1], default=("unknown", 0.0))[0]
