"""What a job was asked to do: ``config.json`` as the lab wrote it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from maxkernel_orchestrators.connection import Subject


class Budget(BaseModel):
    """Limits enforced by code. Zero means none.

    Attributes:
        evaluations: candidates profiled.
        wall_s: wall time over all sessions of the job.
        tokens: of all exchanges with minds, in and out.
        usd: what those may cost.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    evaluations: int = 24
    wall_s: float = 1200.0
    tokens: int = 0
    usd: float = 0.0


class JobConfig(BaseModel):
    """A job's config. Unknown fields are kept for newer versions and ignored here.

    Attributes:
        policy: who chooses in a graph search. ``seed``: of its chance.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: str = "optimization"
    paradigm: Literal["auto", "search", "hitl"] = "auto"
    policy: str = "parallel"
    seed: int = 0
    author: str = "builtin"
    target: str = "v6e"
    task: str = ""
    reference_path: str = ""
    inputs: tuple[str, ...] = ()
    start_from: str = ""
    budget: Budget = Field(default_factory=Budget)

    @property
    def subject(self) -> Subject:
        """The workload, as the tools take it."""
        return Subject(self.task, self.reference_path, self.inputs)
