"""Self time of events that may hold each other. Owns the rule for nesting: full containment, nothing less.

Neighbouring ops overlap by a picosecond of rounding. A parent stack that takes any overlap for nesting then charges
whole ops to their neighbours.
"""

from __future__ import annotations

import numpy as np

from maxkernel_tools.traces.events import Column


def self_times(starts: Column, lengths: Column) -> tuple[Column, int]:
    """Return each event's own time and how much of the sum is overlap.

    Args:
        starts: in ps, ascending.
        lengths: in ps, longest first among equal starts.

    Returns:
        Self times in the same order; they sum to the time of the outermost events. The overlap is what that sum has
        beyond the union of all intervals.
    """
    own = lengths.copy()
    if not len(own):
        return own, 0
    ends = starts + lengths
    reached = np.maximum.accumulate(ends)
    before = np.concatenate([starts[:1], reached[:-1]])
    union = int(np.maximum(reached - np.maximum(before, starts), 0).sum())
    # Only an event that ends before one that began earlier can be nested; clusters without such are left as they are.
    inner = np.concatenate([[False], ends[1:] <= reached[:-1]])
    cluster = np.cumsum(np.concatenate([[True], starts[1:] >= reached[:-1]]))
    nested = np.isin(cluster, np.unique(cluster[inner]))
    where = np.flatnonzero(nested)
    if len(where):
        own[where] = _unnested(starts[where].tolist(), lengths[where].tolist())
    return own, int(own.sum()) - union


def _unnested(starts: list[int], lengths: list[int]) -> list[int]:
    """Take each event's time from the innermost event that fully contains it."""
    own = list(lengths)
    open_events: list[tuple[int, int]] = []  # (end, position), outermost first
    for position, (start, duration) in enumerate(zip(starts, lengths, strict=True)):
        end = start + duration
        if open_events and open_events[-1][0] <= start:
            open_events = [event for event in open_events if event[0] > start]
        for parent_end, parent in reversed(open_events):
            if parent_end >= end:
                own[parent] -= duration
                break
        open_events.append((end, position))
    return own
