"""How every paradigm ends: the fastest candidate whose whole test holds leaves, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maxkernel_orchestrators.moves import OWN_MOVE
from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate, clearly_faster
from maxkernel_orchestrators.stepping.stopping import StopReason
from maxkernel_orchestrators.stepping.together import together
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.plans import Decision
from maxkernel_tools.records.tasks import TaskResult
from maxkernel_tools.records.verdicts import TestResult

PORTABLE = ("v5e", "v6e")
"""Generations an exported kernel is also compiled for, beside its own target: what most people can rent."""


@dataclass(frozen=True)
class Ending:
    """Where a run ended.

    Attributes:
        best: the fastest candidate whose final verdict, races and uninitialised reads included, is correct.
        final_test: that verdict.
        portable: compile results for the other generations.
        reason: the stopping rule.
        decisions: what a person approved and rejected, where one was asked.
    """

    task: TaskResult
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    final_test: TestResult | None
    portable: CompileResult | None
    reason: StopReason
    author_says: str = ""
    decisions: tuple[Decision, ...] = ()


def ranking(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Verified candidates, fastest first; but a kernel the user brought stays first where no other clearly beats it."""
    ranked = sorted(
        (candidate for candidate in candidates if candidate.verified),
        key=lambda candidate: candidate.time_us or float("inf"),
    )
    own = next((candidate for candidate in ranked if candidate.plan.move == OWN_MOVE), None)
    if own is not None and not clearly_faster(ranked[0], own):
        ranked.remove(own)
        ranked.insert(0, own)
    return ranked


@dataclass(frozen=True)
class Finish:
    """Verifies what is to be exported.

    Attributes:
        bench: the lab behind the journal.
        tell: hears what is going on.
    """

    bench: Bench
    tell: Callable[[str, str], None]

    async def end(
        self, task: TaskResult, candidates: Sequence[Candidate], reason: StopReason, author_says: str
    ) -> Ending:
        """Put the fastest candidates through the whole test until one holds; only that one may leave."""
        for candidate in ranking(candidates):
            others = tuple(target for target in PORTABLE if target != self.bench.target)
            self.tell("verify", f"{candidate.name}: races, uninitialised reads; compiles for {', '.join(others)}")
            final, portable = await self._verified(candidate, others)
            if final.verdict != "correct":
                continue
            compared = await self._compared(candidate)
            return Ending(task, tuple(candidates), compared, final, portable, reason, author_says)
        return Ending(task, tuple(candidates), None, None, None, reason, author_says)

    async def _verified(self, candidate: Candidate, others: tuple[str, ...]) -> tuple[TestResult, CompileResult]:
        return await together(
            lambda: self.bench.test(candidate.source, candidate.params, "sanitize"),
            lambda: self.bench.compile(candidate.source, candidate.params, others),
        )

    async def _compared(self, candidate: Candidate) -> Candidate:
        """Ask for the reference's time where the candidate's profile came without it."""
        if candidate.profile is None or candidate.profile.speedup is not None:
            return candidate
        self.tell("profile", f"{candidate.name} against the reference")
        profile = await self.bench.profile(candidate.source, candidate.params, "reference")
        return candidate.model_copy(update={"profile": profile}) if profile.time_us is not None else candidate
