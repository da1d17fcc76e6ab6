"""What every tool answers with, and the small records several tools share."""

from __future__ import annotations

from typing import Literal

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.findings import Finding, Severity

State = Literal["done", "running", "failed"]
TimeSource = Literal["device", "cpu-stand-in", "schedule-model", "compiler-estimate", "none"]
BoundBy = Literal[
    "mxu", "vpu", "xlu", "eup", "load", "store", "scalar", "dma-in", "dma-out", "latency", "launch", "unknown"
]


class Artifact(Record):
    """Something too long for a result, kept under the run.

    Attributes:
        uri: ``maxkernel://runs/{run_id}/{name}``.
        kind: what it holds, e.g. ``exported-module``, ``optimized-hlo``, ``schedule``, ``kernel-source``.
        bytes: size.
    """

    uri: str
    kind: str
    bytes: int


class ToolResult(Record):
    """The fields every result has.

    Attributes:
        ok: True only if every target and case asked for is; None while a job runs.
        state: ``failed`` means the machinery failed, not the kernel.
        job_id: the job that goes on, where one does.
        run_id: the record everything about this candidate is kept under.
        summary: one or two sentences a person would want first.
        findings: what there is to say, errors first.
        artifacts: what was too long for here.
        took_ms: wall time of the call.
    """

    ok: bool | None
    state: State = "done"
    job_id: str | None = None
    run_id: str | None = None
    summary: str
    findings: tuple[Finding, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    took_ms: int = 0


class Speedup(Record):
    """How many times faster than the other side, with its interval and where it comes from."""

    value: float
    low: float
    high: float
    source: TimeSource
    significant: bool
    against: str


class UnitUse(Record):
    """Fraction of issue slots (or, for ``dma``, of time) each unit is busy, 0 to 1."""

    mxu: float = 0.0
    vpu: float = 0.0
    xlu: float = 0.0
    eup: float = 0.0
    load: float = 0.0
    store: float = 0.0
    scalar: float = 0.0
    dma: float = 0.0


class PartTime(Record):
    """Time of one HLO op or one region of a kernel.

    Attributes:
        name: op or region.
        time_us: its time.
        share: fraction of the whole, 0 to 1.
        bound_by: what holds it back.
        line: the user's line, where known.
    """

    name: str
    time_us: float
    share: float
    bound_by: BoundBy = "unknown"
    line: int | None = None


def has_errors(findings: tuple[Finding, ...] | list[Finding]) -> bool:
    """Whether any finding is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)


SEVERITY_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def errors_first(findings: list[Finding] | tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return ``findings`` in order of severity, stable."""
    return tuple(sorted(findings, key=lambda finding: SEVERITY_ORDER[finding.severity]))
