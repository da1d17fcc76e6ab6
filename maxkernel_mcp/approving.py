"""Asks the person about a proposed plan where their client can show a question (elicitation), in both protocol eras.

The client puts the question to its user; what a model passes to a tool never gets here. Where there is no such client,
or the person takes longer than a call may last, the plan stays pending for ``maxkernel plans approve``.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from maxkernel_lab.lab import Lab
from maxkernel_lab.plans import PlanStore
from maxkernel_tools.records.plans import PlanResult, ProposedPlan
from maxkernel_tools.records.results import ToolResult

WAIT_S: Final = 40.0
_MODERN: Final = "2026-07-28"
_KEY: Final = "approval"
_LONGEST_MESSAGE: Final = 6000
_MOST_WAITING: Final = 1000
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Whether this plan shall be carried out."},
        "note": {"type": "string", "title": "Note", "description": "What the author should know."},
    },
    "required": ["approve"],
}


class Approving:
    """Turns a pending plan into a question to the person.

    Args:
        lab: whose plans they are.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._asked: dict[str, str] = {}

    async def after_call(
        self, context: Any, params: types.CallToolRequestParams, result: ToolResult
    ) -> ToolResult | types.InputRequiredResult:
        """Return the result, new where the person has decided; or the question, where the client has to carry it."""
        if not isinstance(result, PlanResult) or result.status != "pending" or not result.plan_id:
            return result
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return result
        store = PlanStore(self._lab.services.home.root)
        plan = store.find(result.plan_id)
        if context.session.protocol_version >= _MODERN:
            if params.request_state is None or self._asked.pop(params.request_state, None) != plan.plan_id:
                return self._question(plan)
            answer = (params.input_responses or {}).get(_KEY)
        else:
            answer = await _asked_now(context, plan)
        if isinstance(answer, types.ElicitResult) and _decide(store, plan, answer):
            return await self._lab.call(params.name, params.arguments or {})
        return result

    def _question(self, plan: ProposedPlan) -> types.InputRequiredResult:
        """The question as an interim result; only who bears its state can answer it, once."""
        state = secrets.token_urlsafe(24)
        while len(self._asked) >= _MOST_WAITING:
            self._asked.pop(next(iter(self._asked)))
        self._asked[state] = plan.plan_id
        form = types.ElicitRequestFormParams(message=_message(plan), requested_schema=_FORM)
        return types.InputRequiredResult(input_requests={_KEY: types.ElicitRequest(params=form)}, request_state=state)


async def _asked_now(context: Any, plan: ProposedPlan) -> types.ElicitResult | None:
    """Ask within the call, as the older era does."""
    if not context.session.can_send_request:
        return None
    with anyio.move_on_after(WAIT_S):
        try:
            return await context.session.elicit_form(_message(plan), _FORM, context.request_id)
        except MCPError:
            return None
    return None


def _decide(store: PlanStore, plan: ProposedPlan, answer: types.ElicitResult) -> bool:
    """Record the person's word; False where they gave none."""
    if answer.action == "cancel":
        return False
    content = answer.content or {}
    approved = answer.action == "accept" and content.get("approve") is True
    store.decide(plan, approved=approved, channel="elicitation", note=str(content.get("note") or "")[:1000])
    return True


def _message(plan: ProposedPlan) -> str:
    text = plan.text if len(plan.text) <= _LONGEST_MESSAGE else plan.text[:_LONGEST_MESSAGE] + "\n[cut]"
    return f"A plan for {plan.task} ({plan.plan_id}):\n\n{text}\n\nShall it be carried out?"
