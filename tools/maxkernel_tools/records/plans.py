"""Plans put before a person, their approvals, and the gate every paradigm with approvals shares."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import ToolResult

Channel = Literal["elicitation", "shell", "terminal", "page"]
"""Where a person said yes. None of them can be reached by calling a tool."""
PlanStatus = Literal["pending", "approved", "rejected"]


class Decision(Record):
    """A person's word on one plan.

    Attributes:
        plan_hash: of the very text that was shown.
        approved: yes or no.
        channel: where it was said. ``person``: the account it was said from. ``at``: when, ISO 8601 in UTC.
        note: what the person said with it.
    """

    plan_hash: str
    approved: bool
    channel: Channel
    person: str = ""
    at: str = ""
    note: str = ""


class ProposedPlan(Record):
    """A plan as it was proposed.

    Attributes:
        plan_id: follows from workload and text: a changed plan is another plan.
        task: the workload it is for.
        text: what the person reads.
    """

    plan_id: str
    task: str
    text: str
    created: str = ""

    @property
    def plan_hash(self) -> str:
        """What an approval must carry."""
        return plan_hash(self.task, self.text)


class PlanResult(ToolResult):
    """Answer of ``propose_plan``.

    Attributes:
        status: ``pending`` until a person has decided.
        channel: where the person decided.
        approve_with: the command with which a person approves it in a shell.
    """

    plan_id: str = ""
    task: str = ""
    plan_hash: str = ""
    status: PlanStatus = "pending"
    channel: str = ""
    note: str = ""
    approve_with: str = ""


def plan_hash(task: str, text: str) -> str:
    """Return the hash of a plan for a workload."""
    return hashlib.sha256(f"{task}\n{text}".encode()).hexdigest()


def require_approval(wanted: str, decisions: Iterable[Decision], *, what: str, how: str) -> Decision:
    """Return the approval of the plan with this hash; the newest word of the person counts.

    Args:
        wanted: hash of the plan as it is now.
        decisions: every decision known, oldest first.
        what: names the plan in the refusal.
        how: how a person can approve it.

    Raises:
        MisuseError: nobody approved exactly this plan.
    """
    said = [decision for decision in decisions if decision.plan_hash == wanted]
    if said and said[-1].approved:
        return said[-1]
    why = "was rejected" if said else "is not approved, or was changed since it was"
    raise MisuseError(f"{what} {why}.", allowed="a plan a person approved, unchanged.", action=how)
