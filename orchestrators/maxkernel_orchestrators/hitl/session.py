"""The session: plan, approval, code, judgement, profile, and again. The person says what is tried; code what holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from maxkernel_orchestrators.hitl.gate import Approvals, GatedMind
from maxkernel_orchestrators.hitl.hearing import Hearing
from maxkernel_orchestrators.hitl.showing import code_words, outline, plan_words, profile_words, trouble_words
from maxkernel_orchestrators.job.journal import Journal, spending_on
from maxkernel_orchestrators.job.ledger import Ledger
from maxkernel_orchestrators.minds.port import Attempt, Mind, MindFaultError, Situation, Trouble
from maxkernel_orchestrators.minds.prompted import PromptedMind
from maxkernel_orchestrators.roles import Implementation, Plan
from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate, better
from maxkernel_orchestrators.stepping.ending import Ending, Finish
from maxkernel_orchestrators.stepping.own_kernel import own_implementation, own_plan
from maxkernel_orchestrators.stepping.step import Step
from maxkernel_orchestrators.stepping.stopping import StopReason
from maxkernel_tools.records.base import Record


class Planned(Record):
    """A planner's answer: a plan, or the word that nothing is left."""

    plan: Plan | None = None


class _StoppedError(Exception):
    """The person said stop."""


@dataclass
class Session:
    """One optimisation with a person.

    Attributes:
        bench: the lab behind the journal.
        mind: who plans and writes.
        journal: what survives. ``ledger``: what was spent.
        hearing: the person.
        tell: hears what is going on. ``changed`` hears of a new best candidate.
        own_source: text of the kernel to start from, where there is one.
    """

    bench: Bench
    mind: Mind
    journal: Journal
    ledger: Ledger
    hearing: Hearing
    tell: Callable[[str, str], None]
    changed: Callable[[Candidate], None]
    own_source: str | None = None
    candidates: list[Candidate] = field(default_factory=list[Candidate])
    best: Candidate | None = None
    _rejected: list[Attempt] = field(default_factory=list[Attempt])

    def __post_init__(self) -> None:
        """Put the gate before the mind."""
        self._approvals = Approvals(self.journal, self.bench.label)
        self._gated = GatedMind(self.mind, self._approvals)

    async def run(self) -> Ending:
        """Go on until the person stops, then verify what is to be exported.

        Raises:
            PersonLeftError: the person left; the session can be taken up again.
            MisuseError: something unapproved was to be carried out.
        """
        self._say("read", "the task and its reference")
        task = await self.bench.task()
        self.hearing.show(f"{self.bench.label} on {self.bench.target}: {task.summary}")
        base = Situation(task=task, target=self.bench.target, chip=await self.bench.chip(), label=self.bench.label)
        step = Step(self.bench, self._gated, self._say, max_repairs=0)
        if self.own_source is not None:
            own = await step.judge("c0", None, own_plan(), own_implementation(self.own_source), self._now(base))
            self._keep(own)
            self.hearing.show(profile_words(own) if own.verified else trouble_words(own))
        reason: StopReason = "person"
        try:
            while (limit := self.ledger.spent_limit()) is None:
                if not await self._round(step, base):
                    reason = "author-done"
                    break
            reason = limit or reason
        except _StoppedError:
            reason = "person"
        ending = await Finish(self.bench, self._say).end(task, self.candidates, reason, self._gated.reason)
        return replace(ending, decisions=tuple(self._approvals.decisions()))

    async def _round(self, step: Step, base: Situation) -> bool:
        """Make one candidate; False where neither author nor person has a plan."""
        name = f"c{len(self.candidates) + (0 if self.own_source is not None else 1)}"
        with spending_on(name):
            plan = await self._approved(name, base)
            if plan is None:
                return False
            candidate = await self._carried_out(name, plan, self._now(base), step)
        self._keep(candidate)
        if candidate.verified:
            self.hearing.show(profile_words(candidate))
        return True

    async def _approved(self, name: str, base: Situation) -> Plan | None:
        """Show plans until the person approves one."""
        plan, edited = await self._proposed(name, base), False
        while plan is not None:
            self.hearing.show("\n" + plan_words(name, plan))
            choice = await self.hearing.choose(f"Plan {name}", ("approve", "edit", "reject", "ask", "stop"))
            if choice == "approve":
                note = "edited by the person" if edited else ""
                await self._approvals.record(plan, approved=True, turn=self.hearing.turn, note=note)
                return plan
            if choice == "edit":
                changed = await self._edited_plan(name, plan)
                plan, edited = changed or plan, edited or changed is not None
            elif choice == "reject":
                await self._reject(name, plan)
                plan, edited = await self._proposed(name, base), False
            else:
                await self._other(choice, self._now(base).best_source or "", plan_words(name, plan))
        why = self._gated.reason or "the author has nothing more to try"
        self.hearing.show(f"No further plan: {why}.")
        return None

    async def _proposed(self, name: str, base: Situation) -> Plan | None:
        self._say("plan", f"{name}: what to try next")

        async def ask() -> Planned:
            return Planned(plan=await self._gated.plan(self._now(base)))

        asked = {"candidate": name, "mind": self._gated.name, "turn": self.hearing.turn}
        return (await self.journal.step("plan", asked, Planned, ask, lambda planned: planned.plan is not None)).plan

    async def _reject(self, name: str, plan: Plan) -> None:
        why = await self.hearing.write("Why not? (Enter for no reason)")
        await self._approvals.record(plan, approved=False, turn=self.hearing.turn, note=why)
        self._rejected.append(
            Attempt(
                name=f"{name}r{len(self._rejected) + 1}",
                parent=self.best.name if self.best else None,
                move=plan.move,
                state="rejected by the person",
                promised=", ".join(f"{expect.figure} {expect.direction}" for expect in plan.expects),
                observed=why or "no reason given",
            )
        )

    async def _edited_plan(self, name: str, plan: Plan) -> Plan | None:
        text = await self.hearing.edit(f"plan-{name}.json", plan.model_dump_json(indent=1))
        if text is None:
            return None
        try:
            return Plan.model_validate_json(text)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in problem["loc"])
            self.hearing.show(f"That is no plan ({where}: {problem['msg']}); the old one stands.")
            return None

    async def _carried_out(self, name: str, plan: Plan, situation: Situation, step: Step) -> Candidate:
        """Have an approved plan written, reviewed and judged until it passes or the person gives it up."""
        parent = self.best.name if self.best else None
        given_up = Candidate(name=name, parent=parent, plan=plan, source="", state="not-compiled")
        self._say("implement", f"{name}: {plan.move}")
        try:
            code = await self._gated.implement(situation, plan)
        except (MindFaultError, ValueError) as fault:
            # The built-in author can only carry out plans of its own; a person may have edited this one.
            self.hearing.show(f"The author did not write it: {fault}")
            return given_up.model_copy(update={"problem": str(fault)})
        shown, repairs = situation.best_source, 0
        while True:
            reviewed = await self._reviewed(name, plan, shown, code)
            if reviewed is None:
                return given_up.model_copy(update={"source": code.source, "problem": "The person rejected the code."})
            self._approvals.require(plan)
            judged = await step.judge(name, parent, plan, reviewed, situation)
            candidate = judged.model_copy(update={"repairs": repairs})
            if candidate.verified:
                return candidate
            self.hearing.show(trouble_words(candidate))
            choice = await self.hearing.choose(f"{name} did not pass", ("repair", "edit", "give up", "stop"))
            if choice == "stop":
                self._keep(candidate)
                raise _StoppedError
            if choice == "give up":
                return candidate
            shown, code, repairs = reviewed.source, reviewed, repairs + 1
            if choice == "repair":
                trouble = Trouble(candidate.state, candidate.problem, candidate.findings, repairs - 1)
                repaired = await self._gated.repair(situation, plan, reviewed, trouble)
                if repaired is None:
                    self.hearing.show("The author has no repair; you may edit the code or give it up.")
                else:
                    self.hearing.show(f"Repair for {repaired.finding}: {repaired.change}")
                    code = repaired.implementation

    async def _reviewed(self, name: str, plan: Plan, before: str | None, code: Implementation) -> Implementation | None:
        """Show code until the person lets it be judged; None where they reject it."""
        while True:
            self.hearing.show("\n" + code_words(before, code.source))
            if code.note:
                self.hearing.show(f"The author: {code.note}")
            choice = await self.hearing.choose(f"Code of {name}", ("go", "edit", "reject", "ask", "stop"))
            if choice == "go":
                return code
            if choice == "reject":
                return None
            if choice == "edit":
                text = await self.hearing.edit(f"kernel-{name}.py", code.source)
                if text is not None and text.strip():
                    # The author's values were meant for the author's text: an edited file runs with its own.
                    code = own_implementation(text).model_copy(update={"note": "Edited by the person."})
                continue
            await self._other(choice, code.source, plan_words(name, plan))

    async def _other(self, choice: str, source: str, facts: str) -> None:
        """Answer a question, or stop."""
        if choice == "stop":
            raise _StoppedError
        question = await self.hearing.write("What do you want to know?")
        best = self.best.observed() if self.best else "none yet"
        words = f"{facts}\n\nBest verified kernel so far: {best}\n\nThe person asks: {question}"
        if not isinstance(self.mind, PromptedMind):
            self.hearing.show(f"{outline(source) or 'There is no kernel yet.'}\n{facts}\nBest so far: {best}")
            return
        try:
            self.hearing.show((await self.mind.explain(source, words)).text)
        except MindFaultError as fault:
            self.hearing.show(f"The author gave no answer: {fault}")

    def _say(self, stage: str, message: str) -> None:
        self.tell(stage, message)
        self.hearing.show(f"… {stage}: {message}")

    def _keep(self, candidate: Candidate) -> None:
        self.candidates.append(candidate)
        self.journal.keep_candidate(candidate.name, len(self.candidates), candidate)
        if better(candidate, self.best):
            self.best = candidate
            self.changed(candidate)

    def _now(self, base: Situation) -> Situation:
        best = self.best
        return replace(
            base,
            best_source=best.source if best else None,
            best_params=dict(best.params) if best else None,
            best_words=profile_words(best) if best else "None yet.",
            attempts=(*(candidate.attempt() for candidate in self.candidates), *self._rejected),
        )
