"""The loop of graph search: choose, evaluate, record, tell. Resumable at any moment.

What a search does follows from its seed and from answers alone: chance is drawn per choice from the seed and the
choice's number, choices are recorded before they are tried, and outcomes are told in the order of asking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from maxkernel_orchestrators.job.journal import Journal
from maxkernel_orchestrators.job.ledger import Ledger
from maxkernel_orchestrators.minds.port import Attempt, Mind, Situation
from maxkernel_orchestrators.searching.evaluating import Evaluator
from maxkernel_orchestrators.searching.graph import Batch, Graph
from maxkernel_orchestrators.searching.nodes import ROOT, Ask, Node
from maxkernel_orchestrators.searching.policies import Policy
from maxkernel_orchestrators.searching.proposals import Proposer
from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_orchestrators.stepping.ending import Ending, Finish
from maxkernel_orchestrators.stepping.step import Step
from maxkernel_orchestrators.stepping.stopping import Limits, StopReason, at_roofline

WORTH_TESTING: Final = 1.15
"""A kernel within this factor of the best verified time gets a verdict; a slower one may still be gone on from."""
PATIENCE: Final = 40
FAILURES: Final = 16
"""What a search's limits are where nobody sets them: it looks further than a climb does."""
_SHOWN_ATTEMPTS: Final = 30
_SHOWN_LESSONS: Final = 20
_FINALISTS: Final = 24
_KEPT_LINES: Final = 200


@dataclass
class Search:
    """One graph search.

    Attributes:
        bench: the lab behind the journal. ``mind``: who writes and repairs. ``journal``: what survives.
        graph: nodes and choices. ``policy``: who chooses. ``proposer``: carries moves out.
        limits: budget and stopping rules.
        seed: of all chance.
        tell: hears what is going on. ``changed`` hears of a new best candidate.
        width: choices made together, before any of their outcomes is known.
        ledger: what was spent, where somebody counts it.
    """

    bench: Bench
    mind: Mind
    journal: Journal
    graph: Graph
    policy: Policy
    proposer: Proposer
    limits: Limits
    seed: int
    tell: Callable[[str, str], None]
    changed: Callable[[Candidate], None]
    width: int = 4
    ledger: Ledger | None = None
    best: Candidate | None = None
    _idle: int = 0
    _failed: int = 0

    async def run(self) -> Ending:
        """Search until a rule says stop, then verify what is to be exported."""
        self.tell("read", "the task and its reference")
        task, chip = await self.bench.task(), await self.bench.chip()
        base = Situation(task=task, target=self.bench.target, chip=chip, label=self.bench.label)
        evaluator = Evaluator(
            step=Step(self.bench, self.mind, self.tell, may_evaluate=self._may_evaluate, tune=False),
            proposer=self.proposer,
            graph=self.graph,
            journal=self.journal,
            vmem_bytes=float(chip.get("vmem_bytes") or 0.0),
            situation_of=lambda parent: self._situation(base, parent),
        )
        self.policy.tell(Node(id=ROOT, moves=tuple(await self.proposer.designs(base))))
        reason = await self._loop(evaluator)
        author_says = getattr(self.mind, "reason", "")
        return await Finish(self.bench, self.tell).end(task, self._finalists(), reason, author_says)

    async def _loop(self, evaluator: Evaluator) -> StopReason:
        for batch in tuple(self.graph.batches):
            for ask in batch.asks:
                self.policy.take(ask.parent, ask.move)
            await self._tried(batch, evaluator)
        while (reason := self._reason()) is None:
            asks = self._ask()
            if not asks:
                return "author-done"
            await self._tried(self.graph.planned(asks), evaluator)
        return reason

    def _ask(self) -> list[Ask]:
        first, most = self.graph.next_id, self.width
        if self.limits.evaluations:
            most = max(1, min(most, self.limits.evaluations - self.bench.evaluations))
        asks: list[Ask] = []
        for node_id in range(first, first + most):
            choice = self.policy.ask(Random(f"{self.seed}/{node_id}"))  # noqa: S311 - reproducible, not secret
            if choice is None:
                break
            asks.append(Ask(id=node_id, parent=choice[0], move=choice[1]))
        return asks

    async def _tried(self, batch: Batch, evaluator: Evaluator) -> None:
        """Evaluate what is left of a batch, then tell the policy all of its outcomes in order."""
        goal = self.best.time_us if self.best is not None and self.best.time_us is not None else float("inf")
        self.tell("search", f"{len(self.graph.nodes)} candidates; {', '.join(ask.move for ask in batch.asks)}")
        await evaluator.evaluate(batch, goal * WORTH_TESTING)
        for ask in batch.asks:
            self._told(self.graph.nodes[ask.id])

    def _told(self, node: Node) -> None:
        self.policy.tell(node)
        if node.state == "duplicate":
            return
        self._failed = self._failed + 1 if node.state == "failed" else 0
        before = self.best.time_us if self.best is not None else None
        if not node.wins or node.time_us is None or (before is not None and node.time_us >= before):
            self._idle += 1
            return
        gained = before is None or node.time_us < before * (1 - self.limits.gain)
        self._idle = 0 if gained else self._idle + 1
        self.best = self.journal.candidate(f"c{node.id}", Candidate)
        if self.best is not None:
            self.changed(self.best)

    def _reason(self) -> StopReason | None:
        if self.limits.evaluations and self.bench.evaluations >= self.limits.evaluations:
            return "evaluations"
        if self.limits.wall_s and self.journal.wall_s() >= self.limits.wall_s:
            return "wall-time"
        if self.ledger is not None and (spent := self.ledger.spent_limit()) is not None:
            return spent
        if at_roofline(self.limits, self.best):
            return "roofline"
        if self._failed >= self.limits.failures:
            return "too-many-failures"
        return "marginal-return" if self._idle >= self.limits.patience else None

    def _may_evaluate(self) -> bool:
        return not self.limits.evaluations or self.bench.evaluations < self.limits.evaluations

    def _finalists(self) -> list[Candidate]:
        """The fastest verified candidates and the newest others, in order: what an ending and its report can hold."""
        nodes = self.graph.nodes.values()
        verified = sorted((node for node in nodes if node.wins), key=lambda node: node.time_us or 0.0)[:_FINALISTS]
        others = [node for node in nodes if not node.wins and node.state != "duplicate"][-_KEPT_LINES:]
        chosen = sorted({node.id for node in (*verified, *others)})
        found = (self.journal.candidate(f"c{node_id}", Candidate) for node_id in chosen)
        return [candidate for candidate in found if candidate is not None]

    def _situation(self, base: Situation, parent: Candidate | None) -> Situation:
        """What a mind is told when it goes on from ``parent``: that kernel, the newest attempts, every lesson."""
        # Only what was told: how far a batch had come when it was interrupted may not change what is asked next.
        told = [node for node in self.policy.frontier.nodes.values() if node.id != ROOT]
        lessons = self.policy.lessons.table()[:_SHOWN_LESSONS]
        return replace(
            base,
            best_source=parent.source if parent else None,
            best_params=dict(parent.params) if parent else None,
            best_words=parent.observed() if parent else "None yet.",
            attempts=tuple(
                Attempt(
                    name=f"c{node.id}",
                    parent=f"c{node.parent}" if node.parent else None,
                    move=node.move,
                    state=node.state,
                    promised="",
                    observed=node.note,
                    time_us=node.time_us,
                )
                for node in told[-_SHOWN_ATTEMPTS:]
            ),
            lessons="\n".join(
                f"- {lesson.move}, when bound by {lesson.context}: {100 * lesson.effect:+.0f} % (log) on average over "
                f"{lesson.count}, {lesson.failures} of them no kernel"
                for lesson in lessons
            ),
        )
