"""Runs a whole compiled program: the top level's own schedule, calling each fusion and kernel by name.

The top level starts asynchronous copies and waits for them in scalar code like any kernel, so one clock covers
prefetches that overlap other ops, loops in HLO and the order of everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from maxkernel_tools.schedule.bundles import Listing, parse_bundles
from maxkernel_tools.schedule.dumps import TOP_LEVEL, DumpFolder
from maxkernel_tools.schedule.engine import Clockwork
from maxkernel_tools.schedule.machine import Machine, Run
from maxkernel_tools.schedule.unknown import UnknownFormatError


@dataclass
class OpRun:
    """One op of the program, all its calls together.

    Attributes:
        schedule: the program whose schedule it used (another one's where the compiler deduplicated it).
        calls: how often it ran; ``run`` is the last call's, ``cycles`` the sum.
    """

    name: str
    schedule: str | None
    calls: int = 0
    cycles: float = 0.0
    run: Run | None = None


@dataclass
class ProgramRun:
    """A whole program once.

    Attributes:
        cycles: first to last bundle, transfers the program waits for included.
        ops: by name, in order of first call.
        hbm_bytes: everything that crossed HBM; ``dma_busy_cycles``: how long HBM was busy with it.
        missing: ops without any schedule (not counted in ``cycles``).
        top: the top level's own run; its transfers are the asynchronous copies.
    """

    cycles: float = 0.0
    ops: dict[str, OpRun] = field(default_factory=dict[str, OpRun])
    hbm_bytes: float = 0.0
    dma_busy_cycles: float = 0.0
    missing: list[str] = field(default_factory=list[str])
    top: Run | None = None


class Program:
    """A compile's dumps, ready to run; schedules are parsed once each.

    Args:
        folder: the dumps.
        alias: op name to the program whose schedule it shares.
    """

    def __init__(self, folder: DumpFolder, alias: Callable[[str], str | None] | None = None) -> None:
        self.folder = folder
        self._alias = alias
        self._machines: dict[str, Machine] = {}
        self.listings: dict[str, Listing] = {}

    def machine(self, program: str) -> Machine:
        """Return the machine of ``program``.

        Raises:
            UnknownFormatError: it has no schedule or one in an unknown form.
        """
        if program not in self._machines:
            listing = parse_bundles(self.folder.text(program, "final_bundles"))
            self.listings[program] = listing
            self._machines[program] = Machine(listing)
        return self._machines[program]

    def schedule_of(self, op: str) -> str | None:
        """Return the program whose schedule ``op`` runs, or None where there is none."""
        if self.folder.has(op, "final_bundles"):
            return op
        other = self._alias(op) if self._alias else None
        return other if other is not None and self.folder.has(other, "final_bundles") else None

    def run(self, clockwork: Clockwork, trips: Mapping[str, int] | None = None) -> ProgramRun:
        """Run the program once.

        Args:
            clockwork: a fresh clock.
            trips: by program, trip count of its outermost loop, for schedules too long to run whole.

        Raises:
            UnknownFormatError: the top level cannot be read.
        """
        result = ProgramRun()

        def call(name: str) -> None:
            if name.startswith("<"):
                return
            schedule = self.schedule_of(name)
            op = result.ops.setdefault(name, OpRun(name, schedule))
            op.calls += 1
            if schedule is None:
                if name not in result.missing:
                    result.missing.append(name)
                return
            try:
                machine = self.machine(schedule)
            except UnknownFormatError:
                if name not in result.missing:
                    result.missing.append(name)
                return
            run = machine.run(clockwork, expected_trips=(trips or {}).get(schedule))
            op.cycles += run.cycles
            op.run = run
            result.hbm_bytes += run.read_bytes + run.write_bytes

        top = self.machine(TOP_LEVEL).run(clockwork, call=call)
        result.top = top
        result.cycles = top.cycles
        result.hbm_bytes += top.read_bytes + top.write_bytes
        result.dma_busy_cycles = clockwork.busy_cycles
        return result
