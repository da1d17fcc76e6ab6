"""The port every mind implements, and what it is told. Nothing here lets a mind judge correctness or speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from maxkernel_orchestrators.roles import Diagnosis, Implementation, Plan
from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.tasks import TaskResult


class MindFaultError(Exception):
    """A mind gave no usable answer; the attempt is given up, the run goes on."""


@dataclass(frozen=True)
class Attempt:
    """An earlier candidate, as a mind is told of it: enough to learn from, short enough for every context.

    Attributes:
        name: ``c1``, ``c2``, ... ``state``: how it ended.
        move: what its plan was. ``promised`` and ``observed``: the effect, in words.
    """

    name: str
    parent: str | None
    move: str
    state: str
    promised: str
    observed: str
    time_us: float | None = None


@dataclass(frozen=True)
class Situation:
    """What a mind knows when it is asked: built for each question, never accumulated.

    Attributes:
        task: the workload with its reference, source and graph.
        target: the chip's name; ``chip`` its published figures.
        best_source: source of the best verified kernel; ``best_params`` the values it runs with.
        best_words: that kernel and its profile, for reading.
        attempts: what was tried, oldest first.
        wanted_move: the move a search asks for; empty where the planner is free.
        lessons: what moves did so far, in words; empty where nobody keeps them.
    """

    task: TaskResult
    target: str
    chip: dict[str, Any]
    label: str
    best_source: str | None = None
    best_params: dict[str, Any] | None = None
    best_words: str = "None yet."
    attempts: tuple[Attempt, ...] = ()
    wanted_move: str = ""
    lessons: str = ""


@dataclass(frozen=True)
class Trouble:
    """Why a kernel has to be repaired: the stage that failed, what was found, how often it was repaired already."""

    stage: str
    summary: str
    findings: tuple[Finding, ...]
    repairs: int


class Mind(Protocol):
    """Plans, writes and repairs kernels."""

    @property
    def name(self) -> str:
        """As settings name it, e.g. ``builtin``."""
        ...

    async def plan(self, situation: Situation) -> Plan | None:
        """Return what to try next, or None when nothing is left that is likely to pay."""
        ...

    async def implement(self, situation: Situation, plan: Plan) -> Implementation:
        """Return the whole kernel that carries out ``plan``."""
        ...

    async def repair(
        self, situation: Situation, plan: Plan, implementation: Implementation, trouble: Trouble
    ) -> Diagnosis | None:
        """Return a repaired kernel, or None to give the attempt up."""
        ...
