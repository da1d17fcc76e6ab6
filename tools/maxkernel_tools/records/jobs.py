"""Jobs: work that outlives one call."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import ToolResult

JobState = Literal["running", "done", "failed", "cancelled", "interrupted"]


class CostLedger(Record):
    """What a job has spent so far.

    Attributes:
        exchanges: prompts an author answered, or failed to.
        usd: None where the price of one of them is not known; never a zero that is a guess.
        faults: how often each kind of fault of the author occurred.
    """

    wall_s: float = 0.0
    compile_s: float = 0.0
    device_s: float = 0.0
    evaluations: int = 0
    exchanges: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    faults: dict[str, int] = Field(default_factory=dict[str, int])


class CandidateCost(Record):
    """What one candidate cost; ``compile_s`` is the time of its compile and profile calls."""

    compile_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


class JobProgress(Record):
    """Where a job is: ``done`` of ``total`` steps, in words too."""

    stage: str = ""
    message: str = ""
    done: int = 0
    total: int | None = None


class BestSoFar(Record):
    """The best verified kernel a job has, with the source of its time."""

    run_id: str
    time_us: float | None = None
    time_source: str = "none"
    speedup: float | None = None
    verdict: str = ""


class JobResult(ToolResult):
    """Answer of ``get_job``, ``cancel_job``, ``resume_job`` and ``start_optimization``."""

    job_state: JobState = "running"
    kind: str = ""
    progress: JobProgress = JobProgress()
    best: BestSoFar | None = None
    cost: CostLedger = CostLedger()
    result: dict[str, Any] | None = None


class RunLine(Record):
    """One line of ``list_runs``."""

    run_id: str
    created: str
    kind: str
    task: str | None = None
    target: str | None = None
    verdict: str | None = None
    time_us: float | None = None
    time_source: str | None = None
    ok: bool | None = None


class RunListResult(ToolResult):
    """Answer of ``list_runs``."""

    runs: tuple[RunLine, ...] = ()
    total: int = 0


class StageRecord(Record):
    """One stage of a run: the result of one tool call on it, without what lies in artifacts."""

    stage: str
    created: str
    ok: bool | None
    summary: str
    result: dict[str, Any] = Field(default_factory=dict)


class RunResult(ToolResult):
    """Answer of ``get_run``: everything known about one candidate on one workload."""

    kind: str = "candidate"
    created: str = ""
    task: str | None = None
    inputs: tuple[str, ...] = ()
    params: dict[str, Any] = Field(default_factory=dict)
    config: dict[str, Any] = Field(default_factory=dict)
    stages: tuple[StageRecord, ...] = ()
