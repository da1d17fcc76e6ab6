"""Self time of events that may hold each other. Owns the rule for nesting: full containment, nothing less.

Neighbouring ops overlap by a picosecond of rounding. A parent stack that takes any overlap for nesting then charges
whole ops to their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence


def self_times(intervals: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
    """Return each event's own time and how much of the sum is overlap.

    Args:
        intervals: (start, duration) in ps, sorted by start, longest first among equals.

    Returns:
        Self times in the same order; they sum to the time of the outermost events. The overlap is what that sum has
        beyond the union of all intervals.
    """
    own = [duration for _, duration in intervals]
    open_events: list[tuple[int, int]] = []  # (end, position), outermost first
    union = 0
    reached: int | None = None
    for position, (start, duration) in enumerate(intervals):
        end = start + duration
        if open_events and open_events[-1][0] <= start:
            open_events = [event for event in open_events if event[0] > start]
        for parent_end, parent in reversed(open_events):
            if parent_end >= end:
                own[parent] -= duration
                break
        open_events.append((end, position))
        if reached is None or start >= reached:
            union += duration
            reached = end
        elif end > reached:
            union += end - reached
            reached = end
    return own, sum(own) - union
