"""When to stop. Pure functions of what was tried and spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from maxkernel_orchestrators.stepping.candidates import Candidate, better

StopReason = Literal[
    "evaluations",
    "wall-time",
    "tokens",
    "money",
    "roofline",
    "marginal-return",
    "author-done",
    "too-many-failures",
    "person",
]


@dataclass(frozen=True)
class Limits:
    """What a run may spend, and when more of it is not worth spending.

    Attributes:
        evaluations: timings; 0 for no limit.
        wall_s: wall time over all sessions; 0 for no limit.
        roofline_fraction: at this fraction of the chip's roofline there is nothing left to gain.
        patience: verified candidates in a row without a gain.
        gain: what counts as one.
        failures: candidates in a row that never became kernels.
    """

    evaluations: int = 24
    wall_s: float = 1200.0
    roofline_fraction: float = 0.97
    patience: int = 3
    gain: float = 0.01
    failures: int = 5


def stop_reason(
    limits: Limits, candidates: Sequence[Candidate], best: Candidate | None, evaluations: int, wall_s: float
) -> StopReason | None:
    """Return the first rule that says stop, or None."""
    if limits.evaluations and evaluations >= limits.evaluations:
        return "evaluations"
    if limits.wall_s and wall_s >= limits.wall_s:
        return "wall-time"
    if at_roofline(limits, best):
        return "roofline"
    failed = 0
    for candidate in reversed(candidates):
        if candidate.verified:
            break
        failed += 1
    if failed >= limits.failures:
        return "too-many-failures"
    if _without_gain(candidates, limits.gain) >= limits.patience:
        return "marginal-return"
    return None


def at_roofline(limits: Limits, best: Candidate | None) -> bool:
    """Whether there is nothing left to gain."""
    fraction = best.profile.roofline_fraction if best and best.profile else None
    return fraction is not None and fraction >= limits.roofline_fraction


def _without_gain(candidates: Sequence[Candidate], gain: float) -> int:
    """Count the verified candidates since the last one that improved the best time by ``gain``."""
    best: Candidate | None = None
    idle = 0
    for candidate in candidates:
        if not candidate.verified or candidate.time_us is None:
            continue
        improved = better(candidate, best) and (
            best is None or best.time_us is None or candidate.time_us < best.time_us * (1 - gain)
        )
        idle = 0 if improved else idle + 1
        if better(candidate, best):
            best = candidate
    return idle


REASON_WORDS: dict[str, str] = {
    "evaluations": "the budget of evaluations is spent",
    "wall-time": "the budget of time is spent",
    "tokens": "the budget of tokens is spent",
    "money": "the budget of money is spent",
    "roofline": "the kernel is at the chip's roofline by the model",
    "marginal-return": "the last attempts brought no gain worth having",
    "person": "the person stopped",
    "author-done": "the author has nothing more to try",
    "too-many-failures": "the last attempts gave no kernel at all",
}
