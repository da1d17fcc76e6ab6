"""What to try next, each piece grounded in a figure of the profile it belongs to."""

from __future__ import annotations

from collections.abc import Callable

from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.profiles import SideProfile
from maxkernel_tools.records.targets import Target

_Rule = Callable[[SideProfile], tuple[str, str] | None]


def advise(profile: SideProfile, target: Target) -> tuple[Finding, ...]:
    """Return notes, most telling first; none where nothing stands out."""
    made = [rule(profile) for rule in _RULES]
    return tuple(
        Finding(
            code=FindingCode.PROFILE_ADVICE,
            severity=Severity.NOTE,
            stage=Stage.PROFILE,
            message=message,
            hint=hint,
            target=target,
        )
        for message, hint in (one for one in made if one is not None)
    )


def _near_roofline(profile: SideProfile) -> tuple[str, str] | None:
    fraction = profile.roofline_fraction or 0.0
    if fraction < 0.9:
        return None
    return (
        f"The estimate is at {fraction:.0%} of the roofline ({profile.roofline_us:.1f} µs).",
        "Little is left in this formulation; only fewer flops or bytes would make it faster.",
    )


def _refetched(profile: SideProfile) -> tuple[str, str] | None:
    worst = max(profile.traffic, key=lambda row: row.hbm_bytes * (1 - 1 / max(row.refetch_factor, 1.0)), default=None)
    if worst is None or worst.refetch_factor < 2 or not profile.bound_by.startswith("dma"):
        return None
    return (
        (
            f"Operand {worst.operand} crosses HBM {worst.refetch_factor:.1f} times "
            f"({worst.fetches} fetches of {worst.block_bytes} bytes) and transfers bound this kernel."
        ),
        "Enlarge the block along the axis that does not index it, or make that axis innermost so that the block stays.",
    )


def _waiting(profile: SideProfile) -> tuple[str, str] | None:
    waiting = profile.dma_wait_fraction or 0.0
    if waiting < 0.15 or profile.transfer_floor_us is None or profile.compute_floor_us is None:
        return None
    if profile.transfer_floor_us < 0.8 * profile.time_us:
        return (
            (
                f"{waiting:.0%} of the time is spent waiting for transfers, yet they alone need only "
                f"{profile.transfer_floor_us:.1f} of {profile.time_us:.1f} µs: they do not overlap the compute well."
            ),
            "Use larger or more blocks in flight (buffer_count), so that the next block arrives before it is needed.",
        )
    return (
        (
            f"Transfers alone need {profile.transfer_floor_us:.1f} of {profile.time_us:.1f} µs, "
            f"compute alone {profile.compute_floor_us:.1f}: the kernel waits for HBM."
        ),
        "Fuse neighbouring operations into this kernel, or move fewer bytes (narrower dtype, no refetch).",
    )


def _spilling(profile: SideProfile) -> tuple[str, str] | None:
    spilled = profile.spill_slots or 0
    if not spilled or profile.compute_floor_us is None or profile.units.load < 0.2:
        return None
    return (
        f"The schedule issues {spilled} register spills and fills; load slots are {profile.units.load:.0%} busy.",
        "Work on a smaller tile at a time (an inner loop over sublanes), so that live values fit the registers.",
    )


def _idle_mxu(profile: SideProfile) -> tuple[str, str] | None:
    if profile.bound_by in {"mxu", "dma-in", "dma-out", "launch"} or not 0.05 < profile.units.mxu < 0.6:
        return None
    return (
        f"The MXU is busy {profile.units.mxu:.0%} of the time; the pace is set by {profile.bound_by}.",
        "Give each step a larger matmul, keep the epilogue out of the inner loop, or feed the MXU bfloat16 operands.",
    )


def _small_steps(profile: SideProfile) -> tuple[str, str] | None:
    blocks = [row for row in profile.traffic if row.fetches > 512 and row.block_bytes < 32_768]
    if not blocks:
        return None
    row = min(blocks, key=lambda one: one.block_bytes)
    return (
        f"Operand {row.operand} is moved in {row.fetches} pieces of {row.block_bytes} bytes.",
        "Use larger blocks: each grid step and each transfer has a fixed cost.",
    )


_RULES: tuple[_Rule, ...] = (_near_roofline, _refetched, _waiting, _spilling, _idle_mxu, _small_steps)
