"""Approvals of a session, in its journal, and the mind that carries out nothing else."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime

from maxkernel_orchestrators.job.journal import Journal
from maxkernel_orchestrators.minds.port import Mind, Situation, Trouble
from maxkernel_orchestrators.roles import Diagnosis, Implementation, Plan
from maxkernel_tools.records.plans import Channel, Decision, plan_hash, require_approval


class Approvals:
    """What the person said yes or no to.

    Args:
        journal: keeps every decision.
        task: the workload's name, which is part of every hash.
        channel: where the person is.
    """

    def __init__(self, journal: Journal, task: str, channel: Channel = "terminal") -> None:
        self._journal, self._task = journal, task
        self._channel: Channel = channel

    def hash_of(self, plan: Plan) -> str:
        """The hash an approval of exactly this plan carries."""
        return plan_hash(self._task, plan.model_dump_json())

    async def record(self, plan: Plan, *, approved: bool, turn: int, note: str = "") -> Decision:
        """Keep what the person said about a plan; ``turn`` tells two words on the same plan apart."""

        async def decide() -> Decision:
            return Decision(
                plan_hash=self.hash_of(plan),
                approved=approved,
                channel=self._channel,
                person=_account(),
                at=datetime.now(UTC).isoformat(timespec="seconds"),
                note=note,
            )

        asked = {"plan_hash": self.hash_of(plan), "approved": approved, "turn": turn, "note": note}
        return await self._journal.step("decision", asked, Decision, decide)

    def decisions(self) -> list[Decision]:
        """Every decision, oldest first."""
        return self._journal.answers("decision", Decision)

    def require(self, plan: Plan) -> Decision:
        """Return the approval of exactly this plan.

        Raises:
            MisuseError: nobody approved it, or it was changed since.
        """
        what = f"The plan {plan.move!r}"
        return require_approval(self.hash_of(plan), self.decisions(), what=what, how="Show it to the person again.")


class GatedMind:
    """A mind that carries out approved plans and no others.

    Args:
        mind: who plans and writes.
        approvals: asked before every implementation and every repair.
    """

    def __init__(self, mind: Mind, approvals: Approvals) -> None:
        self._mind, self._approvals = mind, approvals

    @property
    def name(self) -> str:
        """The mind's name."""
        return self._mind.name

    @property
    def reason(self) -> str:
        """Why the mind has nothing more to say, where it has not."""
        return getattr(self._mind, "reason", "")

    async def plan(self, situation: Situation) -> Plan | None:
        """Plans are free: they are what a person decides on."""
        return await self._mind.plan(situation)

    async def implement(self, situation: Situation, plan: Plan) -> Implementation:
        """Carry out an approved plan.

        Raises:
            MisuseError: it is not approved as it is.
        """
        self._approvals.require(plan)
        return await self._mind.implement(situation, plan)

    async def repair(
        self, situation: Situation, plan: Plan, implementation: Implementation, trouble: Trouble
    ) -> Diagnosis | None:
        """Repair a kernel of an approved plan.

        Raises:
            MisuseError: it is not approved as it is.
        """
        self._approvals.require(plan)
        return await self._mind.repair(situation, plan, implementation, trouble)


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
