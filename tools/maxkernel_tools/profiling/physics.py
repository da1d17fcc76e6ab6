"""The time nobody can beat for a task's semantics: a figure under it means the work was not done, or not in that time.

Not the roofline of the plain formula: a known rewrite needs fewer operations (``Work.least_flops``), a dead input need
not be read (``Work.least_bytes``), fast algorithms multiply less, and what fits VMEM may lie there from the run before.
"""

from __future__ import annotations

from typing import Final

from maxkernel_tools.chips import chip
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.tasks import TaskFacts
from maxkernel_tools.tasks import least_flops, least_hbm_bytes

FAST: Final = {"convolution": 0.25}
"""Share of the multiplications a fast algorithm keeps: Winograd's F(4x4, 3x3) a quarter (Lavin and Gray, CVPR 2016)."""

STRASSEN: Final = 0.75
"""Two levels of Strassen's algorithm keep (7/8)^2 of a matmul's multiplications."""


def floor_us(facts: TaskFacts, target: Target) -> float:
    """Return the least time in µs any right program can take for the task at its full size."""
    hardware = chip(target)
    work = least_flops(facts) * FAST.get(facts.operator, STRASSEN)
    moved = max(0, least_hbm_bytes(facts) - hardware.vmem_bytes * hardware.cores)
    return max(work / hardware.peak_for(facts.dtype), moved / hardware.hbm_bytes_per_s) * 1e6


def below_floor(facts: TaskFacts, target: Target, time_us: float, source: str) -> Finding | None:
    """Return the finding for a time under the floor, or None where there is nothing to explain."""
    floor = floor_us(facts, target)
    if time_us >= floor:
        return None
    return Finding(
        code=FindingCode.INTEGRITY_BELOW_ROOFLINE,
        severity=Severity.ERROR,
        stage=Stage.PROFILE,
        message=(
            f"{time_us:.2f} µs ({source}) lies under {floor:.2f} µs, what the least work of {facts.id} takes on "
            f"{target.value} at peak: the kernel does not do all of it on the device, or the time is wrong."
        ),
        hint="Compute everything inside workload from its inputs, and write every output; then profile again.",
        target=target,
    )
