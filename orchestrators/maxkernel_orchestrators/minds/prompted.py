"""A mind made of role files and a speaker: builds each prompt from what is known now, and reads typed answers."""

from __future__ import annotations

import json

from maxkernel_orchestrators.job.journal import Journal
from maxkernel_orchestrators.job.ledger import Ledger
from maxkernel_orchestrators.minds.asking import Exchange, Patience, Questioner, cut, form_words
from maxkernel_orchestrators.minds.port import MindFaultError, Situation, Trouble
from maxkernel_orchestrators.minds.speaking import Speaker
from maxkernel_orchestrators.moves import STOP_MOVE, catalogue_words
from maxkernel_orchestrators.roles import Diagnosis, Explanation, Implementation, Plan, load_role

__all__ = ["Exchange", "PromptedMind"]


class PromptedMind:
    """Plans, writes and repairs through a speaker.

    Args:
        speaker: who answers.
        journal: keeps every exchange; an exchange that is there is not asked for again.
        ledger: checked before each exchange.
        patience: how long a question is pursued.

    Attributes:
        reason: why it has nothing more to say, once it has not.
    """

    def __init__(
        self, speaker: Speaker, journal: Journal, ledger: Ledger | None = None, patience: Patience | None = None
    ) -> None:
        self._speaker = speaker
        self._questioner = Questioner(speaker, journal, ledger or Ledger(journal), patience)
        self.reason = ""

    @property
    def name(self) -> str:
        """The speaker's name."""
        return self._speaker.name

    async def plan(self, situation: Situation) -> Plan | None:
        """Ask the planner; None at its word, or when it gave no plan."""

        def build(limit: int) -> str:
            best = f"{situation.best_words}\n\n```python\n{situation.best_source or ''}\n```"
            return load_role("planner").prompt(
                **_workload(situation, limit),
                best=cut(best, limit),
                history=_history(situation, limit),
                moves=catalogue_words(situation.wanted_move),
                form=form_words(Plan),
            )

        try:
            plan = await self._questioner.ask("planner", build, Plan, len(situation.attempts))
        except MindFaultError as fault:
            self.reason = f"the author gave no plan ({fault})"
            return None
        return None if plan.move.strip().lower() == STOP_MOVE else plan

    async def implement(self, situation: Situation, plan: Plan) -> Implementation:
        """Ask the implementer."""
        source = situation.best_source
        parent = f"```python\n{source}\n```" if source else "None: write it from nothing."

        def build(limit: int) -> str:
            return load_role("implementer").prompt(
                **_workload(situation, limit),
                plan=plan.model_dump_json(indent=1),
                parent=cut(parent, limit),
                form=form_words(Implementation),
            )

        return await self._questioner.ask("implementer", build, Implementation, len(situation.attempts))

    async def repair(
        self, situation: Situation, plan: Plan, implementation: Implementation, trouble: Trouble
    ) -> Diagnosis | None:
        """Ask the debugger; None when it gives no usable repair."""
        findings = "\n".join(
            f"- {finding.code} at line {finding.line}: {finding.message} {finding.hint}" for finding in trouble.findings
        )

        def build(limit: int) -> str:
            return load_role("debugger").prompt(
                task=cut(situation.task.summary, limit),
                reference=cut(situation.task.reference_source or "", limit),
                source=cut(implementation.source, limit),
                findings=cut(f"{trouble.stage}: {trouble.summary}\n{findings}", limit),
                repairs=f"{trouble.repairs} in this step, for the plan {plan.move!r}.",
                form=form_words(Diagnosis),
            )

        turn = len(situation.attempts) * 100 + trouble.repairs
        try:
            return await self._questioner.ask("debugger", build, Diagnosis, turn)
        except MindFaultError:
            return None

    async def explain(self, source: str, facts: str) -> Explanation:
        """Ask the explainer about a kernel.

        Raises:
            MindFaultError: it gave no usable answer.
        """

        def build(limit: int) -> str:
            return load_role("explainer").prompt(
                source=cut(source, limit), facts=cut(facts, limit), form=form_words(Explanation)
            )

        return await self._questioner.ask("explainer", build, Explanation, 0)


def _workload(situation: Situation, limit: int) -> dict[str, str]:
    return {
        "task": cut(situation.task.summary, limit),
        "chip": cut(json.dumps(situation.chip), limit),
        "reference": cut(situation.task.reference_source or "", limit),
    }


def _history(situation: Situation, limit: int) -> str:
    lines = [
        f"- {attempt.name} from {attempt.parent or 'nothing'}: {attempt.move}; "
        f"promised {attempt.promised or 'nothing'}; {attempt.state}: {attempt.observed}"
        for attempt in situation.attempts
    ]
    if situation.lessons:
        lines.append(f"\nWhat moves did so far, over all branches:\n{situation.lessons}")
    # The newest attempts say most: what has to go is cut at the front.
    text = "\n".join(lines) or "Nothing yet."
    return text if len(text) <= limit else f"[{len(text) - limit} characters cut]\n{text[-limit:]}"
