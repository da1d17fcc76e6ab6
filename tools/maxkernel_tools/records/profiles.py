"""What ``profile_kernel`` answers. Every time says where it comes from; an estimate is never called measured."""

from __future__ import annotations

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import BoundBy, PartTime, Speedup, TimeSource, ToolResult, UnitUse
from maxkernel_tools.records.targets import Target


class OperandTraffic(Record):
    """HBM traffic of one operand over the whole grid, exact from grid and index map."""

    operand: str
    direction: str
    block_bytes: int
    fetches: int
    hbm_bytes: int
    refetch_factor: float


class SideProfile(Record):
    """One side of a comparison (the candidate, or the reference) by one model or one measurement.

    Attributes:
        time_us: the whole program once.
        interval_us: where the truth should lie.
        compute_floor_us: schedule alone, transfers free.
        transfer_floor_us: HBM transfers alone, compute free.
        roofline_us: the larger of flops/peak and bytes/bandwidth of the task or program.
        roofline_fraction: roofline_us / time_us.
    """

    time_us: float
    time_source: TimeSource
    interval_us: tuple[float, float]
    bound_by: BoundBy
    compute_floor_us: float | None = None
    transfer_floor_us: float | None = None
    roofline_us: float | None = None
    roofline_fraction: float | None = None
    hbm_bytes: int | None = None
    flops: int | None = None
    units: UnitUse = UnitUse()
    ops: tuple[PartTime, ...] = ()
    regions: tuple[PartTime, ...] = ()
    lines: tuple[PartTime, ...] = ()
    traffic: tuple[OperandTraffic, ...] = ()
    spill_slots: int | None = None
    dma_wait_fraction: float | None = None
    vmem_bytes: int | None = None
    vmem_limit_bytes: int | None = None
    notes: tuple[str, ...] = ()


class ProfileResult(ToolResult):
    """Answer of ``profile_kernel``; the candidate's figures are at the top, the other side's under ``reference``."""

    target: Target
    time_us: float | None = None
    time_source: TimeSource = "none"
    interval_us: tuple[float, float] | None = None
    bound_by: BoundBy = "unknown"
    compute_floor_us: float | None = None
    transfer_floor_us: float | None = None
    roofline_us: float | None = None
    roofline_fraction: float | None = None
    hbm_bytes: int | None = None
    flops: int | None = None
    units: UnitUse = UnitUse()
    ops: tuple[PartTime, ...] = ()
    regions: tuple[PartTime, ...] = ()
    lines: tuple[PartTime, ...] = ()
    traffic: tuple[OperandTraffic, ...] = ()
    spill_slots: int | None = None
    dma_wait_fraction: float | None = None
    vmem_bytes: int | None = None
    vmem_limit_bytes: int | None = None
    speedup: Speedup | None = None
    reference: SideProfile | None = None
    notes: tuple[str, ...] = ()
