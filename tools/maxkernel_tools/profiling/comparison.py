"""Speed-up of a candidate over another side, from two estimates by one model, with its interval."""

from __future__ import annotations

from maxkernel_tools.records.profiles import SideProfile
from maxkernel_tools.records.results import Speedup


def speedup(candidate: SideProfile, other: SideProfile, against: str) -> Speedup:
    """Return how many times faster ``candidate`` is than ``other``.

    The interval takes both sides' own intervals at their worst; it is significant only if 1 lies outside.
    """
    value = other.time_us / candidate.time_us
    low = other.interval_us[0] / candidate.interval_us[1]
    high = other.interval_us[1] / candidate.interval_us[0]
    source = candidate.time_source if candidate.time_source == other.time_source else "schedule-model"
    return Speedup(value=value, low=low, high=high, source=source, significant=low > 1 or high < 1, against=against)
