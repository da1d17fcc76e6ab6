"""Handler of ``propose_plan``: keeps plans and says how they stand. Decides nothing."""

from __future__ import annotations

from maxkernel_lab.plans import PlanStore
from maxkernel_lab.registry.arguments import ProposePlanArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.workloads import plan_subject
from maxkernel_tools.context import Progress
from maxkernel_tools.records.plans import PlanResult


async def propose_plan(services: Services, arguments: ProposePlanArguments, progress: Progress) -> PlanResult:  # noqa: ARG001
    """Handle ``propose_plan``: keep the plan and say how it stands. Decides nothing."""
    store = PlanStore(services.home.root)
    subject = plan_subject(services, arguments.task)
    plan = store.propose(subject, arguments.plan)
    status, decision = store.status(plan)
    command = f"maxkernel plans approve {plan.plan_id}"
    words = {
        "pending": f"The plan waits for a person, who approves it in a shell with: {command}",
        "approved": "The plan is approved. Pass plan_id to compile_kernel and test_kernel.",
        "rejected": "The person rejected the plan. Propose another.",
    }
    return PlanResult(
        ok=None if status == "pending" else status == "approved",
        summary=f"{plan.plan_id}: {words[status]}",
        plan_id=plan.plan_id,
        task=subject,
        plan_hash=plan.plan_hash,
        status=status,
        channel=decision.channel if decision else "",
        note=decision.note if decision else "",
        approve_with=command if status == "pending" else "",
    )
