"""A mind made of role files and a speaker: builds prompts, reads typed answers, counts what goes wrong."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Final, TypeVar

from pydantic import ValidationError

from maxkernel_orchestrators.job.journal import Journal
from maxkernel_orchestrators.minds.port import MindFaultError, Situation, Trouble
from maxkernel_orchestrators.minds.speaking import Speaker, SpeakerFaultError
from maxkernel_orchestrators.moves import STOP_MOVE, catalogue_words
from maxkernel_orchestrators.roles import Diagnosis, Implementation, Plan, load_role
from maxkernel_tools.records.base import Record

TRIES: Final = 3
"""Answers asked for before a question is given up."""
_LONGEST_FIELD: Final = 24_000
"""Characters of one field of a prompt: a context is built to a budget, not accumulated."""
_BLOCK = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_Answer = TypeVar("_Answer", bound=Record)


class Exchange(Record):
    """One prompt's answer as it came, or the fault; kept in the journal, from which a run can be replayed."""

    role: str
    text: str = ""
    fault: str = ""


class PromptedMind:
    """Plans, writes and repairs through a speaker.

    Args:
        speaker: who answers.
        journal: keeps every exchange; an exchange that is there is not asked for again.

    Attributes:
        faults: how often each kind of fault occurred.
        reason: why it has nothing more to say, once it has not.
    """

    def __init__(self, speaker: Speaker, journal: Journal) -> None:
        self._speaker, self._journal = speaker, journal
        self.faults: Counter[str] = Counter()
        self.reason = ""

    @property
    def name(self) -> str:
        """The speaker's name."""
        return self._speaker.name

    async def plan(self, situation: Situation) -> Plan | None:
        """Ask the planner; None at its word, or when it gave no plan."""
        prompt = load_role("planner").prompt(
            task=_cut(situation.task.summary),
            chip=_cut(json.dumps(situation.chip)),
            reference=_cut(situation.task.reference_source or ""),
            best=_cut(f"{situation.best_words}\n\n```python\n{situation.best_source or ''}\n```"),
            history=_history(situation),
            moves=catalogue_words(),
            form=_form(Plan),
        )
        try:
            plan = await self._ask("planner", prompt, Plan, len(situation.attempts))
        except MindFaultError as fault:
            self.reason = f"the author gave no plan ({fault})"
            return None
        return None if plan.move.strip().lower() == STOP_MOVE else plan

    async def implement(self, situation: Situation, plan: Plan) -> Implementation:
        """Ask the implementer."""
        parent = f"```python\n{situation.best_source}\n```" if situation.best_source else "None: write it from nothing."
        prompt = load_role("implementer").prompt(
            plan=plan.model_dump_json(indent=1),
            task=_cut(situation.task.summary),
            chip=_cut(json.dumps(situation.chip)),
            reference=_cut(situation.task.reference_source or ""),
            parent=_cut(parent),
            form=_form(Implementation),
        )
        return await self._ask("implementer", prompt, Implementation, len(situation.attempts))

    async def repair(
        self, situation: Situation, plan: Plan, implementation: Implementation, trouble: Trouble
    ) -> Diagnosis | None:
        """Ask the debugger; None when it gives no usable repair."""
        findings = "\n".join(
            f"- {finding.code} at line {finding.line}: {finding.message} {finding.hint}" for finding in trouble.findings
        )
        prompt = load_role("debugger").prompt(
            task=_cut(situation.task.summary),
            reference=_cut(situation.task.reference_source or ""),
            source=_cut(implementation.source),
            findings=_cut(f"{trouble.stage}: {trouble.summary}\n{findings}"),
            repairs=f"{trouble.repairs} in this step, for the plan {plan.move!r}.",
            form=_form(Diagnosis),
        )
        try:
            return await self._ask("debugger", prompt, Diagnosis, len(situation.attempts) * 100 + trouble.repairs)
        except MindFaultError:
            return None

    async def _ask(self, role: str, prompt: str, model: type[_Answer], turn: int) -> _Answer:
        complaint = ""
        for attempt in range(TRIES):
            exchange = await self._exchange(role, prompt + complaint, turn, attempt)
            if exchange.fault:
                self.faults["no-answer"] += 1
                continue
            try:
                return model.model_validate_json(_json_of(exchange.text))
            except ValidationError as error:
                self.faults["malformed"] += 1
                complaint = (
                    f"\n\nYour last answer could not be read: {_cut(str(error), 2000)}\nAnswer with the JSON alone."
                )
        raise MindFaultError(f"{role}: no usable answer in {TRIES} tries")

    async def _exchange(self, role: str, prompt: str, turn: int, attempt: int) -> Exchange:
        async def say() -> Exchange:
            try:
                return Exchange(role=role, text=await self._speaker.say(role, prompt))
            except SpeakerFaultError as fault:
                return Exchange(role=role, fault=str(fault))

        asked = {"speaker": self.name, "role": role, "prompt": prompt, "turn": turn, "attempt": attempt}
        return await self._journal.step("exchange", asked, Exchange, say)


def _json_of(text: str) -> str:
    blocks = _BLOCK.findall(text)
    if blocks:
        return blocks[-1]
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def _form(model: type[Record]) -> str:
    return "Answer with one JSON object of this schema and nothing else:\n" + json.dumps(model.model_json_schema())


def _history(situation: Situation) -> str:
    lines = [
        f"- {attempt.name} from {attempt.parent or 'nothing'}: {attempt.move}; "
        f"promised {attempt.promised or 'nothing'}; {attempt.state}: {attempt.observed}"
        for attempt in situation.attempts
    ]
    return _cut("\n".join(lines) or "Nothing yet.")


def _cut(text: str, limit: int = _LONGEST_FIELD) -> str:
    return text if len(text) <= limit else text[:limit] + f"\n[{len(text) - limit} characters cut]"
