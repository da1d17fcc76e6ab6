"""The normalised profile: what a capture says, in one form whatever file it came from. Data only: no reader, no diff.

Times are integer picoseconds. Every op keeps its samples in device order, so that nothing has to be re-read to compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Clock = Literal["device", "host"]
FlopsOrigin = Literal["hlo", "cost-estimate", "none"]
CaptureFormat = Literal["xplane", "trace-json", "hlo-stats"]

OUTSIDE = "(outside modules)"
"""Name of the module that collects ops no module encloses."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Where a profile comes from.

    Attributes:
        name: file name, without its folder.
        sha256: of the file as it lies on disk.
        flags: what is known about the capture's own flags, e.g. ``custom-call-tracing``: it changes the schedule.
        warnings: what a reader should know before believing a number.
        truncated: events are missing; there are no ops and no totals then.
    """

    name: str
    sha256: str
    format: CaptureFormat
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    flags: Mapping[str, str] = field(default_factory=dict[str, str])
    warnings: tuple[str, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    """The chip: ``origin`` says whether the kind was read from the capture, told by the caller, or is not known.

    Peaks are per core, in flop/s and bytes/s; None where not known.
    """

    kind: str = ""
    origin: Literal["read", "told", "unknown"] = "unknown"
    peak_flops: float | None = None
    peak_hbm_bytes_per_s: float | None = None
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Module:
    """One program on one core.

    Attributes:
        name: without the fingerprint, which is ``program_id``.
        run_ps: time of each run; where the capture gives none by the device's clock, from first op to last.
        idle_ps: time of the module no op accounts for, so that ops plus idle are the module to the picosecond. It is
            module minus union of ops, less ``overlap_ps``.
        overlap_ps: time ops overlap each other without one holding the other: rounding, a picosecond each.
        parameters: shapes of the program's parameters by name, as far as op texts show them.
    """

    name: str
    program_id: str
    core: int
    run_ps: tuple[int, ...]
    idle_ps: int
    overlap_ps: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def runs(self) -> int:
        """How often it ran."""
        return len(self.run_ps)

    @property
    def ps(self) -> int:
        """Time of all runs."""
        return sum(self.run_ps)


@dataclass(frozen=True, slots=True)
class Op:
    """One HLO instruction of one module on one core.

    Attributes:
        name: instruction name with its number; ``base`` is without.
        scope: the name stack jax gave (``tf_op``), empty where absent.
        category: XLA's, e.g. ``loop fusion``, ``custom-call``.
        hlo: the instruction's text; ``shape`` its result with layout and memory space.
        source: ``file:line``.
        starts: of each call by the profile's clock; ``runs`` which run of the module each call belongs to.
        samples: self time of each call, in device order. ``total_samples``: with ops nested in it.
        calls, self_ps, total_ps: of all calls; an hlo-stats table has these and no samples.
        flops: of one call, by ``flops_origin``; for a Pallas call what its ``cost_estimate`` says, believed or not.
        bytes: accessed by one call, None where the capture has none.
        trusted: False where the rate is above the chip's peak, so the flops cannot be right.
    """

    module: str
    program_id: str
    core: int
    name: str
    base: str
    scope: str
    category: str
    hlo: str
    shape: str
    source: str
    calls: int
    self_ps: int
    total_ps: int
    starts: tuple[int, ...] = ()
    runs: tuple[int, ...] = ()
    samples: tuple[int, ...] = ()
    total_samples: tuple[int, ...] = ()
    flops: int | None = None
    flops_origin: FlopsOrigin = "none"
    bytes: int | None = None
    bound_by: str = ""
    trusted: bool = True
    is_pallas: bool = False


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch inside a kernel (LLO, Pallas, MXU lines, markers). It overlaps its kernel: never add it to ops."""

    core: int
    line: str
    name: str
    calls: int
    total_ps: int


@dataclass(frozen=True, slots=True)
class TraceProfile:
    """One capture, normalised."""

    capture: Capture
    device: Device
    clock: Clock
    modules: tuple[Module, ...] = ()
    ops: tuple[Op, ...] = ()
    regions: tuple[Region, ...] = ()

    def ops_ps(self, core: int) -> int | None:
        """Return the sum over ops of one core, None where events are missing."""
        if self.capture.truncated:
            return None
        return sum(op.self_ps for op in self.ops if op.core == core)

    def modules_ps(self, core: int) -> int | None:
        """Return the time of all modules of one core, None where events are missing."""
        if self.capture.truncated:
            return None
        return sum(module.ps for module in self.modules if module.core == core)

    def by_category(self, core: int) -> dict[str, int]:
        """Return self time by category on one core, largest first."""
        totals: dict[str, int] = {}
        for op in self.ops:
            if op.core == core:
                totals[op.category] = totals.get(op.category, 0) + op.self_ps
        return dict(sorted(totals.items(), key=lambda item: -item[1]))


def select_runs(profile: TraceProfile, module: str, first: int, stop: int) -> TraceProfile:
    """Return the profile of runs ``first`` to ``stop - 1`` of one module alone, e.g. to compare halves of a capture."""
    ops: list[Op] = []
    for op in profile.ops:
        kept = [at for at, run in enumerate(op.runs) if first <= run < stop] if op.module == module else []
        if not kept:
            continue
        samples = tuple(op.samples[at] for at in kept)
        totals = tuple(op.total_samples[at] for at in kept)
        ops.append(
            replace(
                op,
                calls=len(kept),
                self_ps=sum(samples),
                total_ps=sum(totals),
                starts=tuple(op.starts[at] for at in kept),
                runs=tuple(op.runs[at] - first for at in kept),
                samples=samples,
                total_samples=totals,
            )
        )
    modules: list[Module] = []
    for one in profile.modules:
        if one.name == module:
            run_ps = one.run_ps[first:stop]
            busy = sum(op.self_ps for op in ops if (op.core, op.program_id) == (one.core, one.program_id))
            modules.append(replace(one, run_ps=run_ps, idle_ps=sum(run_ps) - busy, overlap_ps=0))
    return replace(profile, modules=tuple(modules), ops=tuple(ops), regions=())
