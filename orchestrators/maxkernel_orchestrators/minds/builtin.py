"""The built-in mind: no key, no network. Blueprints for what it recognises, and silence for what it does not."""

from __future__ import annotations

import ast
from functools import cached_property

from maxkernel_orchestrators.authoring import ChipFacts, Draft, Unrecognised, drafts_for
from maxkernel_orchestrators.authoring.graphs import read_graph
from maxkernel_orchestrators.minds.port import Situation, Trouble
from maxkernel_orchestrators.moves import OWN_MOVE
from maxkernel_orchestrators.roles import Diagnosis, Expectation, Implementation, Plan
from maxkernel_tools.records.findings import FindingCode, Severity
from maxkernel_tools.records.tasks import TaskResult

_SMALLER_HELPS = frozenset(
    {FindingCode.VMEM_OOM, FindingCode.COMPILE_TIME_BLOWUP, FindingCode.COMPILER_CRASH, FindingCode.TIMED_OUT}
)
_REASONS = {
    "rows-outer": "K whole in VMEM: the MXU accumulates a tile without parking it; the left operand is read once.",
    "columns-outer": "K whole in VMEM: the MXU accumulates a tile without parking it; the right operand is read once.",
    "k-steps": "K in steps: large tiles cut the traffic, at the price of an accumulator that is loaded and stored.",
    "whole rows": "Rows do not mix: each is read once, worked on in VMEM and written once; less traffic is impossible.",
}


class BuiltinMind:
    """Writes from blueprints, most promising first by a coarse model of the chip."""

    name = "builtin"

    def __init__(self) -> None:
        self._drafts: tuple[Draft, ...] | None = None
        self.reason = ""

    def designs(self, situation: Situation) -> list[str]:
        """Moves of every blueprint that fits, most promising first."""
        return [draft.move for draft in self._all(situation)]

    def design(self, situation: Situation, move: str) -> Plan:
        """Return the plan of the blueprint with that move.

        Raises:
            ValueError: there is none.
        """
        for draft in self._all(situation):
            if draft.move == move:
                return _planned(draft)
        raise ValueError(f"The built-in author has no blueprint for {move!r}.")

    async def plan(self, situation: Situation) -> Plan | None:
        """Return the next blueprint that was not tried; None when there is none that is likely to pay."""
        tried = {attempt.move for attempt in situation.attempts}
        written = any(attempt.state == "verified" and attempt.move != OWN_MOVE for attempt in situation.attempts)
        for draft in self._all(situation):
            if draft.move not in tried and (draft.close or not written):
                return _planned(draft)
        return None

    async def implement(self, situation: Situation, plan: Plan) -> Implementation:
        """Return the blueprint's text.

        Raises:
            ValueError: the plan is not one of this mind's.
        """
        for draft in self._all(situation):
            if draft.move == plan.move:
                return Implementation(
                    source=draft.source,
                    params=dict(draft.params),
                    trials=tuple(dict(trial) for trial in draft.trials),
                    note=f"From the blueprint {draft.blueprint}.",
                )
        raise ValueError(f"The built-in author has no blueprint for {plan.move!r}.")

    async def repair(
        self,
        situation: Situation,  # noqa: ARG002 - part of the port
        plan: Plan,  # noqa: ARG002 - likewise
        implementation: Implementation,
        trouble: Trouble,
    ) -> Diagnosis | None:
        """Fall back to the next block shape where a smaller one may help; else give up."""
        errors = [finding for finding in trouble.findings if finding.severity is Severity.ERROR]
        cause = next((finding for finding in errors if finding.code in _SMALLER_HELPS), None)
        if cause is None or not implementation.trials:
            return None
        params, *rest = implementation.trials
        smaller = implementation.model_copy(update={"params": params, "trials": tuple(rest)})
        return Diagnosis(finding=cause.code.value, change=f"Other blocks: {params}.", implementation=smaller)

    def _all(self, situation: Situation) -> tuple[Draft, ...]:
        if self._drafts is None:
            self._drafts, self.reason = _drafted(situation)
        return self._drafts


def _planned(draft: Draft) -> Plan:
    return Plan(
        move=draft.move,
        hypothesis=_REASONS.get(draft.move, draft.move),
        expects=(Expectation(figure="time_us", direction="down"),),
        tiling=", ".join(f"{name}={value}" for name, value in draft.params.items()),
    )


def _drafted(situation: Situation) -> tuple[tuple[Draft, ...], str]:
    if situation.task.reference_graph is None:
        return (), "the reference could not be traced, so there is no graph to read"
    try:
        graph = read_graph(situation.task.reference_graph, _Names(situation.task).arguments)
        chip = ChipFacts.model_validate(situation.chip | {"target": situation.target})
        return drafts_for(graph, chip, situation.label), ""
    except Unrecognised as reason:
        return (), f"no blueprint fits this reference ({reason})"


class _Names:
    """Readable argument names: what the reference's own ``workload`` calls them."""

    def __init__(self, task: TaskResult) -> None:
        self._task = task

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        try:
            tree = ast.parse(self._task.reference_source or "")
        except SyntaxError:
            return ()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in {"workload", "computation"}:
                return tuple(argument.arg for argument in node.args.posonlyargs + node.args.args)
        return ()
