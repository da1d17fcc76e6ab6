"""Proposed plans and what people decided on them: one folder per user, under the lab's home.

Tools may add plans and read decisions. ``decide`` is for faces that have heard a person: the shell, an elicitation, the
page. No tool of the registry calls it, so that no MCP call can approve anything.
"""

from __future__ import annotations

import getpass
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from maxkernel_lab.locks import write_atomically
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.plans import Channel, Decision, PlanStatus, ProposedPlan, plan_hash, require_approval

_ID_LENGTH: Final = 12


class PlanStore:
    """The plans of one user.

    Args:
        home: the lab's home folder.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "plans"

    def propose(self, task: str, text: str) -> ProposedPlan:
        """Keep a plan; the same text for the same workload is the same plan."""
        plan_id = "p-" + plan_hash(task, text)[:_ID_LENGTH]
        path = self._folder / f"{plan_id}.json"
        if path.is_file():
            return self.find(plan_id)
        plan = ProposedPlan(plan_id=plan_id, task=task, text=text, created=_now())
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, plan.model_dump_json(indent=1).encode())
        return plan

    def find(self, plan_id: str) -> ProposedPlan:
        """Return a plan.

        Raises:
            MisuseError: there is none, or its file was changed after it was proposed.
        """
        plain = plan_id.startswith("p-") and plan_id[2:].isalnum()
        try:
            text = (self._folder / f"{plan_id}.json").read_text(encoding="utf-8") if plain else ""
            plan = ProposedPlan.model_validate_json(text)
        except (OSError, ValidationError) as error:
            raise MisuseError(
                f"Unknown plan {plan_id!r}.",
                allowed="the plan_id propose_plan returned, or one of `maxkernel plans list`.",
                action="Propose the plan again.",
            ) from error
        if plan.plan_id != plan_id or "p-" + plan.plan_hash[:_ID_LENGTH] != plan_id:
            raise MisuseError(
                f"Plan {plan_id} is not what was proposed: its file was changed.",
                allowed="plans as propose_plan wrote them.",
                action="Propose the changed plan; it gets an id of its own.",
            )
        return plan

    def newest(self, limit: int = 20) -> list[ProposedPlan]:
        """Return the newest plans."""
        paths = sorted(self._folder.glob("p-*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        return [self.find(path.stem) for path in paths[:limit]]

    def decide(self, plan: ProposedPlan, *, approved: bool, channel: Channel, note: str = "") -> Decision:
        """Record what a person said. Only a face that has heard one may call this."""
        decision = Decision(
            plan_hash=plan.plan_hash,
            approved=approved,
            channel=channel,
            person=_account(),
            at=_now(),
            note=note,
        )
        said = [*self.decisions(plan.plan_id), decision]
        text = json.dumps([one.model_dump(mode="json") for one in said], indent=1)
        write_atomically(self._folder / f"{plan.plan_id}.decisions", text.encode())
        return decision

    def decisions(self, plan_id: str) -> list[Decision]:
        """Every decision on a plan, oldest first."""
        try:
            told = json.loads((self._folder / f"{plan_id}.decisions").read_bytes())
            return [Decision.model_validate(one) for one in told]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise MisuseError(
                f"The decisions on {plan_id} cannot be read: {error}.",
                allowed="decisions as `maxkernel plans approve` writes them.",
                action=f"Decide again: maxkernel plans approve {plan_id}.",
            ) from error

    def status(self, plan: ProposedPlan) -> tuple[PlanStatus, Decision | None]:
        """Return how a plan stands, and the word that counts."""
        said = [one for one in self.decisions(plan.plan_id) if one.plan_hash == plan.plan_hash]
        if not said:
            return "pending", None
        return ("approved" if said[-1].approved else "rejected"), said[-1]

    def require(self, plan_id: str, task: str) -> Decision:
        """Return the approval of a plan for this workload.

        Raises:
            MisuseError: there is no such plan, it is for another workload, or nobody approved it as it is.
        """
        plan = self.find(plan_id)
        if plan.task != task:
            raise MisuseError(
                f"Plan {plan_id} is for {plan.task!r}, not for {task!r}.",
                allowed="a plan approved for this very workload.",
                action="Propose the plan for it.",
            )
        how = f"Ask the person to run: maxkernel plans approve {plan_id}"
        return require_approval(plan.plan_hash, self.decisions(plan_id), what=f"Plan {plan_id}", how=how)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
