"""``maxkernel plans``: where a person looks at proposed plans and approves or rejects them."""

from __future__ import annotations

import argparse

from maxkernel_lab.plans import PlanStore
from maxkernel_mcp.cli import OK
from maxkernel_mcp.cli.tools import shell_settings
from maxkernel_tools.records.plans import ProposedPlan


def listing(options: argparse.Namespace) -> int:
    """Print the newest plans, a line each."""
    store = _store(options)
    for plan in store.newest():
        status, _ = store.status(plan)
        print(f"{plan.plan_id}  {status:8}  {plan.created}  {plan.task}: {_line(plan)}")
    return OK


def show(options: argparse.Namespace) -> int:
    """Print one plan whole."""
    store = _store(options)
    plan = store.find(options.plan_id)
    _print(plan)
    for decision in store.decisions(plan.plan_id):
        word = "approved" if decision.approved else "rejected"
        print(f"{word} by {decision.person or 'somebody'} in {decision.channel} at {decision.at}")
    return OK


def approve(options: argparse.Namespace) -> int:
    """Show a plan and record the person's approval of exactly this text."""
    return _decide(options, approved=True)


def reject(options: argparse.Namespace) -> int:
    """Show a plan and record that the person rejected it."""
    return _decide(options, approved=False)


def _decide(options: argparse.Namespace, *, approved: bool) -> int:
    store = _store(options)
    plan = store.find(options.plan_id)
    _print(plan)
    decision = store.decide(plan, approved=approved, channel="shell")
    print(f"{'Approved' if approved else 'Rejected'} (sha256 {decision.plan_hash[:12]}…).")
    return OK


def _store(options: argparse.Namespace) -> PlanStore:
    return PlanStore(shell_settings(options, {}).home)


def _print(plan: ProposedPlan) -> None:
    print(f"Plan {plan.plan_id} for {plan.task}, proposed {plan.created}:\n\n{plan.text}\n")


def _line(plan: ProposedPlan) -> str:
    first = plan.text.strip().splitlines()[0]
    return first if len(first) <= 70 else first[:69] + "…"
