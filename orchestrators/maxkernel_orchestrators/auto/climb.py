"""The Auto loop. Each plan starts from the best verified kernel, never from the last attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from maxkernel_orchestrators.auto.stopping import Limits, StopReason, stop_reason
from maxkernel_orchestrators.job.journal import Journal
from maxkernel_orchestrators.minds.port import Mind, Situation
from maxkernel_orchestrators.moves import OWN_MOVE
from maxkernel_orchestrators.roles import Plan
from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate, better, clearly_faster
from maxkernel_orchestrators.stepping.own_kernel import own_implementation, own_plan
from maxkernel_orchestrators.stepping.step import Step
from maxkernel_orchestrators.stepping.together import together
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.tasks import TaskResult
from maxkernel_tools.records.verdicts import TestResult

PORTABLE = ("v5e", "v6e")
"""Generations an exported kernel is also compiled for, beside its own target: what most people can rent."""


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


class Planned(Record):
    """A planner's answer: a plan, or the word that nothing is left."""

    plan: Plan | None = None


@dataclass(frozen=True)
class Ending:
    """Where a run ended.

    Attributes:
        best: the fastest candidate whose final verdict, races and uninitialised reads included, is correct.
        final_test: that verdict.
        portable: compile results for the other generations.
        reason: the stopping rule.
    """

    task: TaskResult
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    final_test: TestResult | None
    portable: CompileResult | None
    reason: StopReason
    author_says: str = ""


@dataclass
class Climb:
    """One Auto run.

    Attributes:
        bench: the lab behind the journal.
        mind: who plans and writes.
        journal: what survives.
        limits: budget and stopping rules.
        tell: hears what is going on. ``changed`` hears of a new best candidate.
        own_source: text of the kernel to start from, where there is one.
    """

    bench: Bench
    mind: Mind
    journal: Journal
    limits: Limits
    tell: Callable[[str, str], None]
    changed: Callable[[Candidate], None]
    own_source: str | None = None
    candidates: list[Candidate] = field(default_factory=list[Candidate])
    best: Candidate | None = None

    async def run(self) -> Ending:
        """Climb until a rule says stop, then verify what is to be exported."""
        self.tell("read", "the task and its reference")
        task = await self.bench.task()
        chip = await self.bench.chip()
        step = Step(self.bench, self.mind, self.tell, may_evaluate=self._may_evaluate)
        base = Situation(task=task, target=self.bench.target, chip=chip, label=self.bench.label)
        if self.own_source is not None:
            own = await step.judge("c0", None, own_plan(), own_implementation(self.own_source), self._now(base))
            self._keep(own)
        reason = await self._climb(step, base)
        return await self._ended(task, reason)

    async def _climb(self, step: Step, base: Situation) -> StopReason:
        while True:
            reason = stop_reason(self.limits, self.candidates, self.best, self.bench.evaluations, self.journal.wall_s())
            if reason is not None:
                return reason
            situation = self._now(base)
            name = f"c{len(self.candidates) + (0 if self.own_source is not None else 1)}"
            self.tell("plan", f"{name}: what to try next")
            plan = await self._planned(name, situation)
            if plan is None:
                return "author-done"
            parent = self.best.name if self.best else None
            self._keep(await step.make(name, parent, plan, situation))

    async def _planned(self, name: str, situation: Situation) -> Plan | None:
        async def ask() -> Planned:
            return Planned(plan=await self.mind.plan(situation))

        asked = {"candidate": name, "mind": self.mind.name}
        return (await self.journal.step("plan", asked, Planned, ask)).plan

    def _may_evaluate(self) -> bool:
        within = not self.limits.evaluations or self.bench.evaluations < self.limits.evaluations
        return within and (not self.limits.wall_s or self.journal.wall_s() < self.limits.wall_s)

    def _keep(self, candidate: Candidate) -> None:
        self.candidates.append(candidate)
        self.journal.keep_candidate(candidate.name, len(self.candidates), candidate)
        if better(candidate, self.best):
            self.best = candidate
            self.changed(candidate)

    def _now(self, base: Situation) -> Situation:
        best = self.best
        return Situation(
            task=base.task,
            target=base.target,
            chip=base.chip,
            label=base.label,
            best_source=best.source if best else None,
            best_params=dict(best.params) if best else None,
            best_words=best.observed() if best else "None yet.",
            attempts=tuple(candidate.attempt() for candidate in self.candidates),
        )

    async def _verified(self, candidate: Candidate, others: tuple[str, ...]) -> tuple[TestResult, CompileResult]:
        return await together(
            lambda: self.bench.test(candidate.source, candidate.params, "sanitize"),
            lambda: self.bench.compile(candidate.source, candidate.params, others),
        )

    async def _compared(self, candidate: Candidate) -> Candidate:
        """Ask once more for the reference's time where the first answer came without it."""
        if candidate.profile is None or candidate.profile.speedup is not None:
            return candidate
        self.tell("profile", f"{candidate.name} against the reference, once more")
        profile = await self.bench.profile(candidate.source, candidate.params, "reference")
        return candidate.model_copy(update={"profile": profile}) if profile.time_us is not None else candidate

    async def _ended(self, task: TaskResult, reason: StopReason) -> Ending:
        """Put the fastest candidates through the whole test until one holds; only that one may leave."""
        ranked = ranking(self.candidates)
        author_says = getattr(self.mind, "reason", "")
        for candidate in ranked:
            others = tuple(target for target in PORTABLE if target != self.bench.target)
            self.tell("verify", f"{candidate.name}: races, uninitialised reads; compiles for {', '.join(others)}")
            final, portable = await self._verified(candidate, others)
            if final.verdict != "correct":
                continue
            compared = await self._compared(candidate)
            return Ending(task, tuple(self.candidates), compared, final, portable, reason, author_says)
        return Ending(task, tuple(self.candidates), None, None, None, reason, author_says)
