"""Where inside a kernel the time goes: stretches of its schedule between branches, weighted by how often they run."""

from __future__ import annotations

from maxkernel_tools.profiling.units import UnitTally, bound, busy_cycles
from maxkernel_tools.records.results import PartTime
from maxkernel_tools.schedule.bundles import Listing
from maxkernel_tools.schedule.machine import Run

MAX_REGIONS = 12
_ROLES = {"LB": "loop body", "PF": "after a predicated region", "PB": "predicated region", "LE": "after a loop"}


def region_times(name: str, listing: Listing, run: Run, tally: UnitTally, to_us: float) -> tuple[PartTime, ...]:
    """Return the costliest stretches of one run of one schedule, waits included.

    Args:
        name: the op they belong to.
        listing: its schedule.
        run: one run of it.
        tally: its unit use.
        to_us: µs per cycle.
    """
    parts: list[PartTime] = []
    for (first, stop), count in run.counts.items():
        waits = {bundle: spent for bundle, spent in run.waits.items() if first <= bundle < stop}
        cycles = count * (stop - first) + sum(waits.values())
        inside = Run(cycles=cycles, waits=waits)
        moved = {bundle: both for bundle, both in run.transfers.items() if first <= bundle < stop}
        # A stretch that waits is bound by what the whole kernel moves most of.
        inside.read_bytes, inside.write_bytes = (run.read_bytes, run.write_bytes) if waits or moved else (0.0, 0.0)
        busy = busy_cycles(tally.use.used[first:stop], tally.use, count)
        role = _ROLES.get(listing.labels.get(first, ""), "stretch")
        parts.append(
            PartTime(
                name=f"{name}: {role}, bundles {first} to {stop - 1}, {count:g} times",
                time_us=cycles * to_us,
                share=min(1.0, cycles / run.cycles) if run.cycles else 0.0,
                bound_by=bound(inside, busy),
            )
        )
    parts.sort(key=lambda part: -part.time_us)
    return tuple(parts[:MAX_REGIONS])
