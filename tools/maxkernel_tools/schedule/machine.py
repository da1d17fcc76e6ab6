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
from maxkernel_tools.schedule.closures import Action, Read, Register, Registers
from maxkernel_tools.schedule.engine import Clockwork
from maxkernel_tools.schedule.steps import EFFECTS, Step

GRANULE_BYTES = 32
"""Unit of DMA sizes in the dumps."""

STEP_GRANULES = 16
"""Granules in one of the steps of which ``steps_per_stride`` make a contiguous piece (512 bytes)."""

SMALL_PIECE_BYTES = 2048
"""One tile: transfers in pieces of this size reach less bandwidth than the model's constants say."""

STEP_BUDGET = 250_000
"""Scalar instructions run before the rest is extrapolated: about half a second."""


@dataclass
class Run:
    """What a run came to.

    Attributes:
        cycles: from the first bundle to the last, waits included; ``issue_cycles`` without waits.
        counts: how often bundles ``first`` to before ``stop`` issued.
        read_bytes, write_bytes, local_bytes: moved from HBM, to HBM, within the core.
        scattered_bytes: moved over HBM in contiguous pieces of at most ``SMALL_PIECE_BYTES``.
        transfers: per DMA instruction (bundle): number of starts and bytes.
        waits: per wait instruction (bundle): cycles stalled.
        unknown_branches: bundles of branches on data (forward: not taken; backward: by the known trip count).
        unknown_loops: those among them that close a loop whose trip count nobody knows; it was run once.
        unknown_transfers: bundles of transfers whose size or predicate depends on data.
        truncated: the budget ran out; the rest was extrapolated from the steady state.
    """

    cycles: float = 0.0
    issue_cycles: int = 0
    counts: dict[tuple[int, int], float] = field(default_factory=lambda: defaultdict[tuple[int, int], float](float))
    read_bytes: float = 0.0
    write_bytes: float = 0.0
    local_bytes: float = 0.0
    scattered_bytes: float = 0.0
    transfers: dict[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]])
    waits: dict[int, float] = field(default_factory=lambda: defaultdict[int, float](float))
    unknown_branches: set[int] = field(default_factory=set[int])
    unknown_loops: set[int] = field(default_factory=set[int])
    unknown_transfers: set[int] = field(default_factory=set[int])
    truncated: bool = False


class Machine:
    """A schedule made ready to run.

    Raises:
        UnknownFormatError: its control flow cannot be followed.
    """

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        blocks = split_blocks(listing)
        self._registers = Registers(step for block in blocks.values() for step in block.steps)
        self._plans = {first: _plan(block, self._registers) for first, block in blocks.items()}

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
        core = _Core(clockwork, self._registers.fresh(), call, trips or {})
        run = core.run
        started = clockwork.now
        at = 0
        passes: list[float] = []
        outermost = end = self.listing.bundles
        while at < end:
            plan = self._plans[at]
            taken = core.issue(plan)
            at = plan.target if taken else plan.stop
            if taken and at <= plan.first and at <= outermost:
                if at < outermost:
                    outermost, passes = at, []
                passes.append(clockwork.now)
            budget -= plan.cost
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
    run.scattered_bytes *= factor
    for key in run.counts:
        run.counts[key] *= factor
    for key in run.waits:
        run.waits[key] *= factor
    run.transfers = {key: (count * factor, moved * factor) for key, (count, moved) in run.transfers.items()}


@dataclass(frozen=True, slots=True)
class _Effect:
    """An instruction that acts outside the scalar registers, with its operands' readers."""

    step: Step
    offset: int
    guard: Callable[[Register], bool | None] | None
    reads: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """A block ready to run: stretches of scalar actions, each followed by an effect or the end."""

    first: int
    stop: int
    target: int
    cost: int
    pieces: tuple[tuple[tuple[Action, ...], _Effect | None], ...]


def _plan(block: Block, registers: Registers) -> _Plan:
    pieces: list[tuple[tuple[Action, ...], _Effect | None]] = []
    pending: list[Action] = []
    for step in block.steps:
        if step.kind in EFFECTS and step.kind != "divide":
            reads = tuple(registers.reader(operand) for operand in step.operands)
            effect = _Effect(step, step.bundle - block.first, registers.guard(step), reads)
            pieces.append((tuple(pending), effect))
            pending = []
        elif (action := registers.action(step)) is not None:
            pending.append(action)
    pieces.append((tuple(pending), None))
    return _Plan(block.first, block.stop, block.target, len(block.steps) + 1, tuple(pieces))


class _Core:
    """Registers and the tally of one run."""

    def __init__(
        self,
        clockwork: Clockwork,
        registers: Register,
        call: Callable[[str], None] | None,
        trips: Mapping[int, int],
    ) -> None:
        self.run = Run()
        self.scope = clockwork.scope()
        self._clock = clockwork
        self._registers = registers
        self._call = call
        self._trips = trips
        self._looped: dict[int, int] = defaultdict(int)

    def issue(self, plan: _Plan) -> bool:
        """Run one block; return whether its branch was taken."""
        clock, registers = self._clock, self._registers
        start = clock.now
        stalled = 0.0
        taken = False
        for actions, effect in plan.pieces:
            for action in actions:
                action(registers)
            if effect is None:
                continue
            holds = True if effect.guard is None else effect.guard(registers)
            if effect.step.kind == "branch":
                taken = self._unknown_branch(effect.step, plan.target) if holds is None else holds
            elif holds is not False:
                clock.now = start + stalled + effect.offset
                stalled += self._effect(effect, known=holds is not None)
        length = plan.stop - plan.first
        clock.now = start + stalled + length
        self.run.issue_cycles += length
        self.run.counts[plan.first, plan.stop] += 1
        return taken

    def _unknown_branch(self, step: Step, target: int) -> bool:
        """Decide a branch on data: forward, the guarded region runs; backward, the loop runs its known trip count."""
        self.run.unknown_branches.add(step.bundle)
        if target > step.bundle:
            return False
        if target not in self._trips:
            self.run.unknown_loops.add(step.bundle)
        self._looped[step.bundle] += 1
        if self._looped[step.bundle] < self._trips.get(target, 1):
            return True
        self._looped[step.bundle] = 0
        return False

    def _effect(self, effect: _Effect, *, known: bool) -> float:
        """Run an effect; return the cycles it stalls."""
        step = effect.step
        if step.kind == "dma":
            self._start(effect, known=known)
        elif step.kind == "wait":
            values = [read(self._registers) for read in effect.reads[:2]]
            flag, amount = (*values, None, None)[:2]
            stall = self._clock.wait((self.scope, flag), amount)
            self.run.waits[step.bundle] += stall
            return stall
        elif step.kind == "delay":
            return float(effect.reads[0](self._registers) or 0) if effect.reads else 0.0
        elif step.kind == "call" and self._call is not None:
            before = self._clock.now
            self._call(step.memory)
            return self._clock.now - before
        return 0.0

    def _start(self, effect: _Effect, *, known: bool) -> None:
        run, step = self.run, effect.step
        values = [read(self._registers) for read in effect.reads]
        size = values[1] if len(values) > 1 else None
        if size is None or not known:
            run.unknown_transfers.add(step.bundle)
        if size is None:
            return
        moved = size * GRANULE_BYTES
        flag = values[3] if len(values) > 3 else None
        steps = values[6] if len(values) > 6 else None
        pieces = max(1.0, size / (steps * STEP_GRANULES)) if steps else 1.0
        # Only the top level, which calls others, starts copies that run behind them.
        background = self._call is not None
        self._clock.start((self.scope, flag), size, moved, step.direction, pieces, background=background)
        count, total = run.transfers.get(step.bundle, (0.0, 0.0))
        run.transfers[step.bundle] = (count + 1, total + moved)
        run.read_bytes += moved * (step.direction in {"read", "copy"})
        run.write_bytes += moved * (step.direction in {"write", "copy"})
        run.local_bytes += moved * (step.direction == "local")
        if step.direction != "local" and moved <= pieces * SMALL_PIECE_BYTES:
            run.scattered_bytes += moved
