"""How far the truth may lie from an estimate: wide where the model is known to be blind, never below the roofline."""

from __future__ import annotations

from maxkernel_tools.chips import Chip
from maxkernel_tools.records.results import UnitUse
from maxkernel_tools.records.targets import Target
from maxkernel_tools.schedule.program import ProgramRun

BASE = 0.05
"""Relative error the model has on programs of known kinds (docs/accuracy.md)."""

_UNCALIBRATED = 0.15
_HOT_MXU = 0.20
_HOT_FROM = 0.93
_RANDOM_DATA = 0.06
_SCATTERED = 0.12
_MISSING = 0.10
_BRANCHES = 0.30
_LOOPS = 4.0
_TRUNCATED = 0.05
_SHORT_US = 20.0
_SHORT = 0.15


def interval(
    time_us: float, roofline_us: float, run: ProgramRun, units: UnitUse, hardware: Chip, *, hoped_bytes: int = 0
) -> tuple[float, float]:
    """Return (low, high) in µs.

    Reasons to widen: a chip no constant was calibrated on; an MXU nearly always busy (published kernels ran up to 20 %
    slower than such schedules) or busy at all with random data (most published times are of zeros, others are some 5 %
    longer than their schedule); transfers in small pieces; ops without a schedule; branches on data, loops on data
    most of all (they are run once); extrapolation; very short programs, where fixed costs decide; an argument whose
    prefetch by the previous program may not have happened.
    """
    down = up = BASE
    if hardware.target is not Target.V6E:
        down, up = down + _UNCALIBRATED, up + _UNCALIBRATED
    if units.mxu > _HOT_FROM:
        up += _HOT_MXU
    up += _RANDOM_DATA * units.mxu
    if run.hbm_bytes:
        scattered = sum(op.run.scattered_bytes * op.calls for op in run.ops.values() if op.run)
        up += _SCATTERED * min(1.0, scattered / run.hbm_bytes)
    if run.missing:
        up += _MISSING
    ran = [op.run for op in run.ops.values() if op.run]
    if any(one.unknown_branches or one.unknown_transfers for one in ran):
        down, up = down + _BRANCHES, up + _BRANCHES
    if any(one.unknown_loops for one in ran):
        up += _LOOPS
    if any(one.truncated for one in ran):
        down, up = down + _TRUNCATED, up + _TRUNCATED
    if time_us < _SHORT_US:
        down, up = down + _SHORT, up + _SHORT
    late = hoped_bytes / hardware.lone_dma_bytes_per_s * 1e6
    return max(roofline_us, time_us * (1 - min(down, 0.9))), time_us * (1 + up) + late
