"""What ``diff_traces`` answers. Times are µs on one core; a delta is candidate minus baseline, negative is faster."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import ToolResult

DiffVerdict = Literal[
    "faster", "slower", "same within noise", "too few samples", "added", "removed", "renamed", "not tested"
]
"""``renamed`` is a match by a rename rule without a significant change; ``not tested`` a row of several rolled up."""

DiffLevel = Literal["ops", "categories", "none"]
"""What could be compared: ops, categories only (the programs differ), or nothing."""


class DiffRow(Record):
    """One op (or a group of like ops) on both sides.

    Attributes:
        name: name without instruction number; ``candidate_name`` where a rename rule matched another.
        tier: how it was paired: 1 scope, category and name; 2 name, category and shapes; 3 source line and category;
            4 a rename rule (low confidence); None where one side only, or rolled up.
        delta_us: equals ``calls_effect_us + per_call_effect_us``: what more or fewer calls do, and what each call does.
        median_change, mean_change: relative, per call; None where a side has no calls.
        baseline_median_us, candidate_median_us: per call, with the 95 % interval of the median, and the fastest call.
        p: Mann-Whitney with Holm's correction over all rows tested.
        floor: relative difference of the same row between cores, or halves of a capture: noise by experiment.
        bimodal: which calls are fast, where times fall into two groups.
        changed: what differs between the two besides time.
        trusted: False where flops the capture gives are above the chip's peak.
    """

    name: str
    candidate_name: str | None = None
    module: str
    category: str
    scope: str = ""
    source: str = ""
    tier: int | None = None
    verdict: DiffVerdict
    is_pallas: bool = False
    baseline_calls: int
    candidate_calls: int
    baseline_us: float
    candidate_us: float
    delta_us: float
    calls_effect_us: float
    per_call_effect_us: float
    median_change: float | None = None
    mean_change: float | None = None
    baseline_median_us: float | None = None
    candidate_median_us: float | None = None
    baseline_interval_us: tuple[float, float] | None = None
    candidate_interval_us: tuple[float, float] | None = None
    baseline_min_us: float | None = None
    candidate_min_us: float | None = None
    p: float | None = None
    floor: float | None = None
    bimodal: str | None = None
    changed: tuple[str, ...] = ()
    trusted: bool = True


class ModuleDelta(Record):
    """One program on both sides; ``delta_us`` is ops plus idle."""

    name: str
    baseline_runs: int
    candidate_runs: int
    baseline_us: float
    candidate_us: float
    delta_us: float
    ops_delta_us: float
    idle_delta_us: float


class CategoryDelta(Record):
    """One HLO category on both sides."""

    category: str
    baseline_us: float
    candidate_us: float
    delta_us: float


class ScheduleRow(Record):
    """One part of a compiled kernel on both sides, by one measure the compiler's schedule gives exactly.

    Attributes:
        part: ``program``, ``unit``, ``op``, ``region``, ``line`` or ``operand``.
        name: which one. ``measure``: what is compared, with its unit (``bundles``, ``wait_us``, ``hbm_bytes``, ...).
        baseline, candidate: the figures; None where a side has no such part.
        delta: candidate minus baseline, a missing side counting as 0.
        source_line: text of the user's line, where known.
    """

    part: Literal["program", "unit", "op", "region", "line", "operand"]
    name: str
    measure: str
    baseline: float | None
    candidate: float | None
    delta: float
    change: float | None = None
    line: int | None = None
    source_line: str = ""


class DiffResult(ToolResult):
    """Answer of ``diff_traces``.

    Attributes:
        comparable: whether the deltas mean anything; False where device, clock, flags or programs differ, or events
            are missing.
        parity: differences to know before any number.
        level: ``ops``, ``categories`` or ``none``.
        core, candidate_core: the core compared on each side.
        time_source: of both sides; ``device`` for captures, ``schedule-model`` for stored profiles: an estimate.
        schedule: parts of two schedule profiles, where those are compared; ``rows`` is empty then.
        per_run: the sides ran their programs a different number of times, so every figure is per run.
        delta_us: over ops; rows sum to it. ``module_delta_us`` = ``delta_us + idle_delta_us``.
        matched_share: fraction of op time paired, (baseline, candidate).
        rows: largest first; where there are more than fit, the last is the sum of the others.
        contributors: names until 90 % of the delta is reached.
        identity: hashes of the two captures as they lie on disk.
    """

    comparable: bool
    parity: tuple[str, ...] = ()
    level: DiffLevel = "ops"
    baseline: str = ""
    candidate: str = ""
    core: int = 0
    candidate_core: int = 0
    time_source: Literal["device", "schedule-model", "none"] = "device"
    clock: Literal["device", "host"] = "device"
    per_run: bool = False
    baseline_us: float | None = None
    candidate_us: float | None = None
    delta_us: float | None = None
    module_delta_us: float | None = None
    idle_delta_us: float | None = None
    matched_share: tuple[float, float] | None = None
    rows: tuple[DiffRow, ...] = ()
    rows_total: int = 0
    schedule: tuple[ScheduleRow, ...] = ()
    modules: tuple[ModuleDelta, ...] = ()
    categories: tuple[CategoryDelta, ...] = ()
    contributors: tuple[str, ...] = ()
    explanation: tuple[str, ...] = Field(default=())
    identity: str = ""
