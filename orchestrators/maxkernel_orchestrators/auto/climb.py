"""The Auto loop. Each plan starts from the best verified kernel, never from the last attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from maxkernel_orchestrators.job.journal import Journal, spending_on
from maxkernel_orchestrators.job.ledger import Ledger
from maxkernel_orchestrators.minds.port import Mind, Situation
from maxkernel_orchestrators.roles import Plan
from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate, better
from maxkernel_orchestrators.stepping.ending import Ending, Finish
from maxkernel_orchestrators.stepping.own_kernel import own_implementation, own_plan
from maxkernel_orchestrators.stepping.step import Step
from maxkernel_orchestrators.stepping.stopping import Limits, StopReason, stop_reason
from maxkernel_tools.records.base import Record


class Planned(Record):
    """A planner's answer: a plan, or the word that nothing is left."""

    plan: Plan | None = None


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
        ledger: what was spent, where somebody counts it.
    """

    bench: Bench
    mind: Mind
    journal: Journal
    limits: Limits
    tell: Callable[[str, str], None]
    changed: Callable[[Candidate], None]
    own_source: str | None = None
    ledger: Ledger | None = None
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
            with spending_on("c0"):
                own = await step.judge("c0", None, own_plan(), own_implementation(self.own_source), self._now(base))
            self._keep(own)
        reason = await self._climb(step, base)
        author_says = getattr(self.mind, "reason", "")
        return await Finish(self.bench, self.tell).end(task, self.candidates, reason, author_says)

    async def _climb(self, step: Step, base: Situation) -> StopReason:
        while True:
            reason = stop_reason(self.limits, self.candidates, self.best, self.bench.relived, self.journal.wall_s())
            reason = reason or self._spent()
            if reason is not None:
                return reason
            situation = self._now(base)
            name = f"c{len(self.candidates) + (0 if self.own_source is not None else 1)}"
            self.tell("plan", f"{name}: what to try next")
            with spending_on(name):
                plan = await self._planned(name, situation)
                if plan is None:
                    return self._spent() or "author-done"
                parent = self.best.name if self.best else None
                self._keep(await step.make(name, parent, plan, situation))

    def _spent(self) -> StopReason | None:
        return self.ledger.spent_limit() if self.ledger else None

    async def _planned(self, name: str, situation: Situation) -> Plan | None:
        async def ask() -> Planned:
            return Planned(plan=await self.mind.plan(situation))

        asked = {"candidate": name, "mind": self.mind.name}
        # That nothing is left is not kept: with a larger budget there may be more to say.
        return (await self.journal.step("plan", asked, Planned, ask, lambda planned: planned.plan is not None)).plan

    def _may_evaluate(self) -> bool:
        within = not self.limits.evaluations or self.bench.relived < self.limits.evaluations
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
