"""A candidate: one kernel with everything the lab said about it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from maxkernel_orchestrators.minds.port import Attempt
from maxkernel_orchestrators.roles import Plan
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.kernels import ParamValue
from maxkernel_tools.records.profiles import ProfileResult
from maxkernel_tools.records.verdicts import TestResult

CandidateState = Literal["not-compiled", "incorrect", "not-profiled", "screened", "verified"]


class Trial(Record):
    """One set of parameter values that was timed while tuning."""

    params: dict[str, ParamValue]
    time_us: float | None
    time_source: str
    note: str = ""


class Candidate(Record):
    """One node of a run.

    Attributes:
        name: ``c1``, ``c2``, ... in the order they were made.
        parent: the candidate it climbed from.
        state: ``screened`` was timed and found too slow to be worth a test. ``verified`` only if the grader called
            these very params correct and a profile exists.
        run_id: the lab's record of it.
        test: the newest verdict on these params.
        profile: against the reference.
        trials: what tuning tried.
        program: hash of the traced program, where it compiled.
        problem: why it is not verified, in one sentence.
    """

    name: str
    parent: str | None
    plan: Plan
    source: str
    params: dict[str, ParamValue] = Field(default_factory=dict)
    state: CandidateState
    run_id: str | None = None
    test: TestResult | None = None
    profile: ProfileResult | None = None
    trials: tuple[Trial, ...] = ()
    repairs: int = 0
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    program: str = ""

    @property
    def time_us(self) -> float | None:
        """Time of the whole kernel by its profile."""
        return self.profile.time_us if self.profile else None

    @property
    def verified(self) -> bool:
        """Whether it may be exported."""
        return self.state == "verified" and self.test is not None and self.test.verdict == "correct"

    def attempt(self) -> Attempt:
        """What later plans are told of it."""
        promised = ", ".join(f"{expect.figure} {expect.direction}" for expect in self.plan.expects)
        return Attempt(
            name=self.name,
            parent=self.parent,
            move=self.plan.move,
            state=self.state,
            promised=promised,
            observed=self.observed(),
            time_us=self.time_us,
        )

    def observed(self) -> str:
        """What came of it, in a line."""
        if not self.verified or self.profile is None or self.profile.time_us is None:
            return self.problem or self.state
        return f"{self.profile.time_us:.1f} µs by {self.profile.time_source}, bound by {self.profile.bound_by}"


def better(one: Candidate, other: Candidate | None) -> bool:
    """Whether verified ``one`` beats ``other`` by the clock both share; unverified candidates never do."""
    if not one.verified or one.time_us is None:
        return False
    if other is None or not other.verified or other.time_us is None:
        return True
    same = (
        one.profile is not None and other.profile is not None and one.profile.time_source == other.profile.time_source
    )
    return same and one.time_us < other.time_us


def clearly_faster(one: Candidate, other: Candidate) -> bool:
    """Whether ``one`` is faster than ``other`` by more than half its own interval, by one clock.

    Both times come from one model, whose error they share; the margin is for what they do not share.
    """
    if not better(one, other) or one.time_us is None or other.time_us is None:
        return False
    interval = one.profile.interval_us if one.profile else None
    margin = (interval[1] - interval[0]) / 2 if interval else 0.05 * one.time_us
    return other.time_us - one.time_us > margin
