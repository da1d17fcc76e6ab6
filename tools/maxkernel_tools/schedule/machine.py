"""Runs the scalar part of a schedule: which bundles issue how often, which transfers start when, what waits for them.

A TensorCore issues one bundle a cycle, in order. Everything that steers it (loop counters, grid indices, predicates,
sync flags, transfer sizes) is scalar code, so running just that gives exact trip counts, exact predicated regions and
every DMA, without touching a vector register. Bandwidth and latency are the caller's (``Clockwork``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from maxkernel_tools.schedule.blocks import Block, split_blocks
from maxkernel_tools.schedule.bundles import Listing
from maxkernel_tools.schedule.engine import Clockwork
from maxkernel_tools.schedule.scalars import Value
from maxkernel_tools.schedule.steps import Operand, Step

GRANULE_BYTES = 32
"""Unit of DMA sizes in the dumps."""

STEP_GRANULES = 16
"""Granules in one of the steps of which ``steps_per_stride`` make a contiguous piece (512 bytes)."""

STEP_BUDGET = 500_000
"""Scalar instructions run before the rest is extrapolated: about half a second."""


@dataclass
class Run:
    """What a run came to.

    Attributes:
        cycles: from the first bundle to the last, waits included; ``issue_cycles`` without waits.
        counts: how often bundles ``first`` to before ``stop`` issued.
        read_bytes, write_bytes, local_bytes: moved from HBM, to HBM, within the core.
        transfers: per DMA instruction (bundle): number of starts and bytes.
        waits: per wait instruction (bundle): cycles stalled.
        unknown_branches: bundles of branches on data (forward: not taken; backward: by the known trip count).
        unknown_transfers: bundles of transfers whose size or predicate depends on data.
        truncated: the budget ran out; the rest was extrapolated from the steady state.
    """

    cycles: float = 0.0
    issue_cycles: int = 0
    counts: dict[tuple[int, int], float] = field(default_factory=lambda: defaultdict[tuple[int, int], float](float))
    read_bytes: float = 0.0
    write_bytes: float = 0.0
    local_bytes: float = 0.0
    transfers: dict[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]])
    waits: dict[int, float] = field(default_factory=lambda: defaultdict[int, float](float))
    unknown_branches: set[int] = field(default_factory=set[int])
    unknown_transfers: set[int] = field(default_factory=set[int])
    truncated: bool = False


class Machine:
    """A schedule made ready to run.

    Raises:
        UnknownFormatError: its control flow cannot be followed.
    """

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self._blocks = split_blocks(listing)

    def run(
        self,
        clockwork: Clockwork,
        *,
        budget: int = STEP_BUDGET,
        expected_trips: int | None = None,
        call: Callable[[str], None] | None = None,
        trips: Mapping[int, int] | None = None,
    ) -> Run:
        """Run from the first bundle to the last.

        Args:
            clockwork: the clock and DMA engine; it goes on from where it is.
            budget: scalar instructions to run before extrapolating.
            expected_trips: trip count of the outermost loop, for extrapolation.
            call: what to do for a call of another schedule (the top-level program calls fusions by name).
            trips: by branch target, trip counts of loops whose exit test depends on data.
        """
        core = _Core(clockwork, call, trips or {})
        run = core.run
        started = clockwork.now
        at = 0
        passes: list[float] = []
        outermost = self.listing.bundles
        while at < self.listing.bundles:
            block = self._blocks[at]
            taken = core.issue(block)
            at = block.target if taken else block.stop
            if taken and at <= block.first and at <= outermost:
                if at < outermost:
                    outermost, passes = at, []
                passes.append(clockwork.now)
            budget -= len(block.steps) + 1
            if budget <= 0:
                run.truncated = True
                break
        clockwork.forget(core.scope)
        run.cycles = clockwork.now - started
        if run.truncated:
            _extrapolate(run, clockwork, passes, expected_trips)
        return run


def _extrapolate(run: Run, clockwork: Clockwork, passes: list[float], expected_trips: int | None) -> None:
    """Scale a run cut short by the trips still to come, at the pace of its second half."""
    done = len(passes)
    if not expected_trips or done < 2 or expected_trips <= done:
        return
    half = done // 2
    pace = (passes[-1] - passes[half]) / max(1, done - 1 - half)
    factor = expected_trips / done
    rest = pace * (expected_trips - done)
    run.cycles += rest
    clockwork.skip(rest, (run.read_bytes + run.write_bytes) * (factor - 1))
    run.issue_cycles = int(run.issue_cycles * factor)
    run.read_bytes *= factor
    run.write_bytes *= factor
    run.local_bytes *= factor
    for key in run.counts:
        run.counts[key] *= factor
    for key in run.waits:
        run.waits[key] *= factor
    run.transfers = {key: (count * factor, moved * factor) for key, (count, moved) in run.transfers.items()}


class _Core:
    """Registers, scalar memory and the tally of one run."""

    def __init__(self, clockwork: Clockwork, call: Callable[[str], None] | None, trips: Mapping[int, int]) -> None:
        self.run = Run()
        self.scope = clockwork.scope()
        self._clock = clockwork
        self._call = call
        self._trips = trips
        self._looped: dict[int, int] = defaultdict(int)
        self._values: dict[str, Value] = {}
        self._written: dict[str, int] = {}
        self._memory: dict[str, Value] = {}
        self._divided: list[Value] = []
        self._stamp = 0

    def issue(self, block: Block) -> bool:
        """Run one block; return whether its branch was taken."""
        start = self._clock.now
        stalled = 0.0
        taken = False
        bundle = -1
        writes: list[tuple[str, Value]] = []
        for step in block.steps:
            if step.bundle != bundle:
                self._commit(writes)
                bundle = step.bundle
            kind = step.kind
            if kind == "phi":
                self._phi(step)
                continue
            holds = self._holds(step)
            if kind == "branch":
                taken = self._unknown_branch(step, block.target) if holds is None else holds
            elif kind in {"dma", "wait", "call", "sync", "semaphore", "delay"}:
                self._clock.now = start + stalled + (bundle - block.first)
                stalled += self._effect(step, holds)
            else:
                self._scalar(step, holds, writes)
        self._commit(writes)
        length = block.stop - block.first
        self._clock.now = start + stalled + length
        self.run.issue_cycles += length
        self.run.counts[block.first, block.stop] += 1
        return taken

    def _get(self, operand: Operand) -> Value:
        return self._values.get(operand) if isinstance(operand, str) else operand

    def _operand(self, step: Step, at: int) -> Value:
        return self._get(step.operands[at]) if at < len(step.operands) else None

    def _commit(self, writes: list[tuple[str, Value]]) -> None:
        if writes:
            self._stamp += 1
            for name, value in writes:
                self._values[name] = value
                self._written[name] = self._stamp
            writes.clear()

    def _holds(self, step: Step) -> bool | None:
        if step.predicate is None:
            return True
        value = self._values.get(step.predicate)
        return None if value is None else bool(value) != step.negated

    def _phi(self, step: Step) -> None:
        names = [name for name in step.operands if isinstance(name, str) and name in self._written]
        if names and step.dest:
            latest = max(names, key=self._written.__getitem__)
            self._values[step.dest] = self._values[latest]
            self._written[step.dest] = self._written[latest]

    def _unknown_branch(self, step: Step, target: int) -> bool:
        """Decide a branch on data: forward, the guarded region runs; backward, the loop runs its known trip count."""
        self.run.unknown_branches.add(step.bundle)
        if target > step.bundle:
            return False
        self._looped[step.bundle] += 1
        if self._looped[step.bundle] < self._trips.get(target, 1):
            return True
        self._looped[step.bundle] = 0
        return False

    def _scalar(self, step: Step, holds: bool | None, writes: list[tuple[str, Value]]) -> None:
        if step.kind == "store":
            if holds is not False:
                self._memory[step.memory] = self._operand(step, 0)
        elif step.kind == "divide":
            if holds is False:
                return
            left, right = self._operand(step, 0), self._operand(step, 1)
            # The queue gives back the remainder: its users index ring buffers.
            self._divided.append(None if left is None or not right else left % right)
        elif step.dest is None:
            return
        elif step.otherwise is not None and holds is not True:
            writes.append((step.dest, self._get(step.otherwise) if holds is False else None))
        elif holds is not False:
            writes.append((step.dest, self._evaluate(step)))

    def _evaluate(self, step: Step) -> Value:
        kind = step.kind
        if kind == "binary" and step.function is not None:
            return step.function(self._operand(step, 0), self._operand(step, 1))
        if kind == "move":
            return self._operand(step, 0)
        if kind == "load":
            return self._memory.get(step.memory)
        if kind == "negate":
            value = self._operand(step, 0)
            return None if value is None else 1 - value
        if kind == "select":
            condition = self._operand(step, 0)
            return None if condition is None else self._operand(step, 1 if condition else 2)
        if kind == "address":
            values = [self._get(operand) for operand in step.operands]
            return None if None in values else sum(value for value in values if value is not None)
        return self._divided.pop(0) if kind == "pop" and self._divided else None

    def _effect(self, step: Step, holds: bool | None) -> float:
        """Run an instruction that acts outside the scalar registers; return the cycles it stalls."""
        if holds is False:
            return 0.0
        if step.kind == "dma":
            self._start(step, known=holds is not None)
        elif step.kind == "wait":
            amount = self._operand(step, 1)
            stall = self._clock.wait((self.scope, self._operand(step, 0)), amount)
            self.run.waits[step.bundle] += stall
            return stall
        elif step.kind == "delay":
            return float(self._operand(step, 0) or 0)
        elif step.kind == "call" and self._call is not None:
            before = self._clock.now
            self._call(step.memory)
            return self._clock.now - before
        return 0.0

    def _start(self, step: Step, *, known: bool) -> None:
        run = self.run
        size = self._operand(step, 1)
        if size is None or not known:
            run.unknown_transfers.add(step.bundle)
        if size is None:
            return
        moved = size * GRANULE_BYTES
        flag = self._operand(step, 3)
        steps = self._operand(step, 6)
        pieces = max(1.0, size / (steps * STEP_GRANULES)) if steps else 1.0
        self._clock.start((self.scope, flag), size, moved, step.direction, pieces)
        count, total = run.transfers.get(step.bundle, (0.0, 0.0))
        run.transfers[step.bundle] = (count + 1, total + moved)
        run.read_bytes += moved * (step.direction in {"read", "copy"})
        run.write_bytes += moved * (step.direction in {"write", "copy"})
        run.local_bytes += moved * (step.direction == "local")
