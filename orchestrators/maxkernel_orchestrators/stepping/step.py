"""One step of the loop, from a plan to a recorded candidate. Bounded repairs; deterministic gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from maxkernel_orchestrators.minds.port import Mind, MindFaultError, Situation, Trouble
from maxkernel_orchestrators.roles import Implementation, Plan
from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate, CandidateState, Trial
from maxkernel_orchestrators.stepping.together import together
from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.kernels import ParamValue
from maxkernel_tools.records.profiles import ProfileResult
from maxkernel_tools.records.verdicts import TestResult

Tell = Callable[[str, str], None]
"""``tell(stage, message)`` says what is being done now."""
MAX_REPAIRS = 3
_WORTH_SWITCHING = 0.99  # a tiling must be this much faster than the default by the model to replace it


@dataclass
class Step:
    """Makes one candidate.

    Attributes:
        bench: the lab behind the journal.
        mind: who plans, writes and repairs.
        tell: hears what is going on.
        may_evaluate: whether the budget allows another timing.
        max_repairs: per step, over compile and test together.
        tune: whether the values a kernel declares worth trying are timed within the step.
    """

    bench: Bench
    mind: Mind
    tell: Tell
    may_evaluate: Callable[[], bool] = field(default=lambda: True)
    max_repairs: int = MAX_REPAIRS
    tune: bool = True

    async def make(self, name: str, parent: str | None, plan: Plan, situation: Situation) -> Candidate:
        """Implement ``plan`` and take the kernel through every gate."""
        self.tell("implement", f"{name}: {plan.move}")
        try:
            implementation = await self.mind.implement(situation, plan)
        except MindFaultError as fault:
            return Candidate(name=name, parent=parent, plan=plan, source="", state="not-compiled", problem=str(fault))
        return await self.judge(name, parent, plan, implementation, situation)

    async def judge(
        self, name: str, parent: str | None, plan: Plan, implementation: Implementation, situation: Situation
    ) -> Candidate:
        """Take a written kernel through compile, test, tune and profile, repairing it where the mind can."""
        repairs = 0
        while True:
            blank = Candidate(
                name=name,
                parent=parent,
                plan=plan,
                source=implementation.source,
                params=implementation.params,
                state="not-compiled",
                repairs=repairs,
            )
            trouble, tested = await self._gates(name, implementation, repairs)
            if trouble is None:
                return await self._timed(blank, implementation, tested)
            repaired = None
            if repairs < self.max_repairs:
                self.tell("repair", f"{name}: {trouble.summary}")
                repaired = await self.mind.repair(situation, plan, implementation, trouble)
            if repaired is None:
                state: CandidateState = "not-compiled" if trouble.stage == "compile" else "incorrect"
                return _settled(blank, state, tested, trouble)
            implementation = repaired.implementation
            repairs += 1

    async def compiled(self, blank: Candidate) -> Candidate:
        """Compile a kernel nobody judged; its program is known afterwards where that went well."""
        self.tell("compile", f"{blank.name} for {self.bench.target}")
        compiled = await self.bench.compile(blank.source, blank.params)
        if not compiled.ok:
            return _settled(blank, "not-compiled", None, Trouble("compile", compiled.summary, compiled.findings, 0))
        return blank.model_copy(update={"program": compiled.program_sha256, "state": "screened"})

    async def timed(self, compiled: Candidate) -> Candidate:
        """Time a compiled kernel; it has no verdict yet, and so can win nothing."""
        self.tell("profile", compiled.name)
        profile = await self.bench.profile(compiled.source, compiled.params, "none")
        known = {"profile": profile, "run_id": profile.run_id, "findings": profile.findings}
        if profile.ok is not True or profile.time_us is None:
            known |= {"state": "not-profiled", "problem": f"There is no time for it: {profile.summary}"}
        return compiled.model_copy(update=known)

    async def tested(self, timed: Candidate) -> Candidate:
        """Give a timed kernel its verdict."""
        self.tell("test", f"{timed.name}: aligned, ragged and tiny shapes")
        tested = await self.bench.test(timed.source, timed.params, "quick")
        if tested.verdict != "correct":
            return _settled(timed, "incorrect", tested, Trouble("test", tested.summary, tested.findings, 0))
        return timed.model_copy(update={"state": "verified", "test": tested, "problem": ""})

    async def _gates(
        self, name: str, implementation: Implementation, repairs: int
    ) -> tuple[Trouble | None, TestResult | None]:
        """Compile, then test quickly; the trouble of the first gate that does not open."""
        self.tell("compile", f"{name} for {self.bench.target}")
        compiled = await self.bench.compile(implementation.source, implementation.params)
        if not compiled.ok:
            return Trouble("compile", compiled.summary, compiled.findings, repairs), None
        self.tell("test", f"{name}: aligned, ragged and tiny shapes")
        tested = await self.bench.test(implementation.source, implementation.params, "quick")
        if tested.verdict != "correct":
            return Trouble("test", tested.summary, tested.findings, repairs), tested
        return None, tested

    async def _timed(self, blank: Candidate, implementation: Implementation, tested: TestResult | None) -> Candidate:
        params, trials = await self._tuned(blank.name, implementation)
        source = implementation.source
        self.tell("profile", f"{blank.name} against the reference")
        if params == implementation.params:
            profile = await self.bench.profile(source, params, "reference")
        else:
            chosen, profile = await together(
                lambda: self.bench.test(source, params, "quick"),
                lambda: self.bench.profile(source, params, "reference"),
            )
            if chosen.verdict == "correct":
                tested = chosen
            else:
                # The defaults passed, so it is these values that are wrong: fall back to what is known to be right.
                params = implementation.params
                profile = await self.bench.profile(source, params, "reference")
        timed = profile.ok is True and profile.time_us is not None
        return blank.model_copy(
            update={
                "params": params,
                "state": "verified" if timed else "not-profiled",
                "run_id": profile.run_id or (tested.run_id if tested else None),
                "test": tested,
                "profile": profile,
                "trials": trials,
                "findings": profile.findings,
                "problem": "" if timed else f"There is no time for it: {profile.summary}",
            }
        )

    async def _tuned(
        self, name: str, implementation: Implementation
    ) -> tuple[dict[str, ParamValue], tuple[Trial, ...]]:
        """Time the defaults and the values worth trying; return the fastest and all that was seen."""
        if not implementation.trials or not self.tune:
            return implementation.params, ()
        seen: list[Trial] = []
        best, best_us = implementation.params, float("inf")
        choices = (implementation.params, *implementation.trials)
        for index, params in enumerate(choices):
            if index and not self.may_evaluate():
                break
            words = ", ".join(f"{key}={value}" for key, value in params.items())
            self.tell("tune", f"{name}: {words} ({index + 1} of {len(choices)})")
            profile = await self.bench.profile(implementation.source, params, "none")
            seen.append(_trial(params, profile))
            time_us = profile.time_us if profile.ok else None
            if time_us is not None and time_us < best_us * (_WORTH_SWITCHING if index else 1.0):
                best, best_us = params, time_us
        return best, tuple(seen)


def _trial(params: dict[str, ParamValue], profile: ProfileResult) -> Trial:
    note = f"bound by {profile.bound_by}" if profile.ok else profile.summary[:200]
    return Trial(params=params, time_us=profile.time_us, time_source=profile.time_source, note=note)


def _settled(blank: Candidate, state: CandidateState, tested: TestResult | None, trouble: Trouble) -> Candidate:
    findings: tuple[Finding, ...] = trouble.findings[:8]
    return blank.model_copy(
        update={
            "state": state,
            "test": tested,
            "run_id": tested.run_id if tested else None,
            "findings": findings,
            "problem": trouble.summary,
        }
    )
