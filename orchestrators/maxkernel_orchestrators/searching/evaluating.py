"""Evaluates a batch of choices: cheap gates first, one after the other; verdicts for the few, side by side.

The order of the cheap gates is the order of asking, so that of two choices that lead to one program the same one is
always the duplicate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from maxkernel_orchestrators.job.journal import Journal, spending_on
from maxkernel_orchestrators.minds.port import MindFaultError, Situation
from maxkernel_orchestrators.roles import Plan
from maxkernel_orchestrators.searching.graph import Batch, Graph
from maxkernel_orchestrators.searching.nodes import ROOT, Ask, Node
from maxkernel_orchestrators.searching.parameters import is_parameter_move
from maxkernel_orchestrators.searching.proposals import Proposal, Proposer
from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_orchestrators.stepping.step import Step

SituationOf = Callable[[Candidate | None], Situation]
"""What a mind is told when it works on from a candidate."""
_NOTE_LENGTH = 200


@dataclass
class Evaluator:
    """Turns choices into nodes.

    Attributes:
        step: the gates. ``proposer``: writes. ``graph``, ``journal``: keep nodes and candidates.
        vmem_bytes: the chip's VMEM.
        situation_of: what the proposer is told.
    """

    step: Step
    proposer: Proposer
    graph: Graph
    journal: Journal
    vmem_bytes: float
    situation_of: SituationOf
    _pending: dict[str, int] = field(default_factory=dict[str, int])

    async def evaluate(self, batch: Batch, worth_us: float) -> None:
        """Give every choice of ``batch`` that has none an outcome; kernels slower than ``worth_us`` get no verdict."""
        waiting: list[tuple[Ask, Candidate, str]] = []
        self._pending.clear()
        for ask in batch.asks:
            if ask.id in self.graph.nodes:
                continue
            with spending_on(_name(ask.id)):
                proposal = await self._proposed(ask)
                if isinstance(proposal, Candidate):
                    self._keep(ask, proposal, "")
                    continue
                found = await self._screened(ask, proposal)
            if isinstance(found, Node):
                self.graph.finished(found)
            elif found.state == "screened" and found.time_us is not None and found.time_us <= worth_us:
                waiting.append((ask, found, proposal.key))
                self._pending |= {mark: ask.id for mark in (proposal.key, found.program) if mark}
            else:
                self._keep(ask, found, proposal.key)
        async with anyio.create_task_group() as tasks:
            for ask, candidate, key in waiting:
                tasks.start_soon(self._judged, ask, candidate, key)

    async def _judged(self, ask: Ask, candidate: Candidate, key: str) -> None:
        self._keep(ask, await self.step.tested(candidate), key)

    async def _proposed(self, ask: Ask) -> Proposal | Candidate:
        parent = self._parent(ask)
        try:
            return await self.proposer.propose(self.situation_of(parent), parent, ask.move)
        except MindFaultError as fault:
            plan = Plan(move=ask.move, hypothesis="Nothing was written.")
            return _blank(ask, plan).model_copy(update={"problem": str(fault)})

    async def _screened(self, ask: Ask, proposal: Proposal) -> Node | Candidate:
        """Take a proposal through the cheap gates; a node where it turns out to be known."""
        if (twin := self._twin(proposal.key)) is not None:
            return self._duplicate(ask, twin, proposal.key)
        written = proposal.implementation
        if not is_parameter_move(ask.move):
            # Freshly written text may be mended by its author; a step along a parameter has none to mend.
            situation = self.situation_of(self._parent(ask))
            return await self.step.judge(_name(ask.id), _name(ask.parent), proposal.plan, written, situation)
        blank = _blank(ask, proposal.plan).model_copy(update={"source": written.source, "params": written.params})
        compiled = await self.step.compiled(blank)
        if compiled.state != "screened":
            return compiled
        if (twin := self._twin(compiled.program)) is not None:
            return self._duplicate(ask, twin, proposal.key)
        return await self.step.timed(compiled)

    def _parent(self, ask: Ask) -> Candidate | None:
        return None if ask.parent == ROOT else self.journal.candidate(_name(ask.parent), Candidate)

    def _twin(self, mark: str) -> int | None:
        known = self.graph.known(mark)
        return known.id if known is not None else self._pending.get(mark)

    def _duplicate(self, ask: Ask, twin: int, key: str) -> Node:
        known = self.graph.nodes.get(twin)
        return Node(
            id=ask.id,
            parent=ask.parent,
            move=ask.move,
            key=key,
            state="duplicate",
            time_us=known.time_us if known else None,
            note=f"The same as c{twin}.",
        )

    def _keep(self, ask: Ask, candidate: Candidate, key: str) -> None:
        """Record candidate and node; the node is what says that the choice is done, so it comes last."""
        self.journal.keep_candidate(candidate.name, ask.id, candidate)
        usable = candidate.verified or candidate.state == "screened"
        vmem = candidate.profile.vmem_bytes if candidate.profile else None
        node = Node(
            id=ask.id,
            parent=ask.parent,
            move=ask.move,
            key=key,
            program=candidate.program,
            state=("verified" if candidate.verified else "screened") if usable else "failed",
            time_us=candidate.time_us if usable else None,
            bound_by=candidate.profile.bound_by if candidate.profile else "unknown",
            vmem=min(1.0, vmem / self.vmem_bytes) if vmem is not None and self.vmem_bytes else None,
            moves=tuple(self.proposer.moves(candidate)) if usable else (),
            note=candidate.observed()[:_NOTE_LENGTH],
        )
        self.graph.finished(node)


def _name(node_id: int) -> str:
    return f"c{node_id}"


def _blank(ask: Ask, plan: Plan) -> Candidate:
    parent = None if ask.parent == ROOT else _name(ask.parent)
    return Candidate(name=_name(ask.id), parent=parent, plan=plan, source="", state="not-compiled")
