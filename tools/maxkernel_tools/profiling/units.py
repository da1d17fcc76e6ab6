"""How busy each unit is over one schedule, weighted by how often every bundle issues; spills and fills among it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxkernel_tools.chips import Chip
from maxkernel_tools.records.arrays import DTYPES
from maxkernel_tools.records.results import BoundBy
from maxkernel_tools.schedule.machine import Run
from maxkernel_tools.schedule.program import OpRun, Program, ProgramRun
from maxkernel_tools.schedule.unknown import UnknownFormatError
from maxkernel_tools.schedule.utilization import Utilization, parse_utilization

# Columns of the dump, by the name a profile gives the unit. VPOP drains the MXU's and XLU's result queues.
_COLUMNS = {
    "mxu": ("MXU",),
    "xlu": ("XLU",),
    "vpu": ("VALU",),
    "eup": ("EUP",),
    "load": ("VLOAD",),
    "store": ("VSTORE",),
    "scalar": ("SALU",),
}
SUBLANES = 8
"""Rows of 32-bit values in one vector register; narrower types pack more."""

_BUSY_ENOUGH = 0.35
"""Below this use of the busiest unit, and without waits, dependencies between instructions set the pace: latency."""

_WAITING = 0.15
"""Share of time stalled on transfers from which they are what bounds an op."""


@dataclass(frozen=True)
class UnitTally:
    """Unit use of one run of one schedule.

    Attributes:
        busy: cycles each unit would need at full use, by profile name.
        spills: spill stores and fills issued.
        weights: how often each bundle issues.
    """

    busy: dict[str, float]
    spills: float
    weights: np.ndarray[tuple[int], np.dtype[np.float64]]
    use: Utilization

    def bound_by(self, op: OpRun) -> BoundBy:
        """Return what holds ``op`` back."""
        run = op.run
        if run is None or not run.cycles:
            return "unknown"
        return bound(run, self.busy)


def bound(run: Run, busy: dict[str, float]) -> BoundBy:
    """Return what holds one run back, from its waits and the use of its units."""
    if sum(run.waits.values()) > _WAITING * run.cycles:
        moved = run.read_bytes + run.write_bytes
        if not moved:
            return "latency"
        return "dma-in" if run.read_bytes >= run.write_bytes else "dma-out"
    unit, most = max(busy.items(), key=lambda item: item[1], default=("", 0.0))
    if run.cycles and most / run.cycles >= _BUSY_ENOUGH:
        return unit  # type: ignore[return-value]
    return "latency"


def _stream_cycles(kind: str, hardware: Chip) -> float:
    """Cycles one matmul instruction keeps an MXU busy: a register of rows through the array, at the chip's peak."""
    rows = SUBLANES * 32 // DTYPES.get(kind, ("", 8))[1]
    per_cycle = hardware.peak_for(kind) / hardware.cores / hardware.clock_hz / hardware.mxu_count
    return rows * 2 * hardware.mxu_size**2 / per_cycle


def bundle_weights(run: Run, bundles: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return how often each bundle issued."""
    edges = np.zeros(bundles + 1)
    for (first, stop), count in run.counts.items():
        edges[first] += count
        edges[min(stop, bundles)] -= count
    return np.cumsum(edges[:-1])


def _by_unit(slots: dict[str, float], use: Utilization) -> dict[str, float]:
    return {
        name: max((slots.get(column, 0.0) / max(1, use.capacity.get(column, 1)) for column in columns), default=0.0)
        for name, columns in _COLUMNS.items()
    }


def busy_cycles(used: np.ndarray[Any, np.dtype[np.int64]], use: Utilization, count: float) -> dict[str, float]:
    """Return cycles each unit needs for ``count`` runs of the bundles ``used``."""
    totals = used.sum(axis=0) * count
    return _by_unit({unit: float(total) for unit, total in zip(use.units, totals, strict=True)}, use)


def tally(program: Program, schedule: str, run: ProgramRun, hardware: Chip) -> UnitTally | None:
    """Weigh the utilisation dump of ``schedule`` by its run; None where there is none to be read."""
    folder = program.folder
    op = next((op for op in run.ops.values() if op.schedule == schedule and op.run), None)
    if op is None or op.run is None or not folder.has(schedule, "utilization"):
        return None
    try:
        use = parse_utilization(folder.text(schedule, "utilization"))
    except UnknownFormatError:
        return None
    weights = bundle_weights(op.run, len(use.used))
    slots = use.weighted(weights)
    busy = _by_unit(slots, use)
    streamed = sum(
        weights[bundle] * number * _stream_cycles(kind, hardware)
        for bundle, kind, number in program.listings[schedule].matmuls
        if bundle < len(weights)
    )
    if streamed:
        busy["mxu"] = min(float(streamed) / hardware.mxu_count, float(weights.sum()))
    return UnitTally(busy, slots.get("VLOAD:FILL", 0.0) + slots.get("VSTORE:SPILL", 0.0), weights, use)
