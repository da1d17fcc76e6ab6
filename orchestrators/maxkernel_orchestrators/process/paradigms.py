"""From a job's config to the paradigm that does it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from maxkernel_orchestrators.auto import Climb
from maxkernel_orchestrators.hitl import Person, Session
from maxkernel_orchestrators.hitl.hearing import Hearing
from maxkernel_orchestrators.hitl.terminal import TerminalPerson
from maxkernel_orchestrators.job import JobConfig, Journal, Ledger
from maxkernel_orchestrators.minds.builtin import BuiltinMind
from maxkernel_orchestrators.minds.port import Mind
from maxkernel_orchestrators.searching import Graph, Search
from maxkernel_orchestrators.searching.authors import BlueprintProposer, PromptedProposer
from maxkernel_orchestrators.searching.policies import make_policy
from maxkernel_orchestrators.searching.search import FAILURES, PATIENCE
from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_orchestrators.stepping.ending import Ending
from maxkernel_orchestrators.stepping.stopping import Limits
from maxkernel_tools.errors import MisuseError


class Paradigm(Protocol):
    """One way of going about a job."""

    async def run(self) -> Ending:
        """Do it, up to the verified kernel or the honest end without one."""
        ...


@dataclass(frozen=True)
class Means:
    """What every paradigm works with.

    Attributes:
        folder: the job's.
        tell: hears what is going on. ``changed`` hears of a new best candidate.
        own_source: text of the kernel to start from, where there is one.
        person: who is in the loop, for ``hitl``; by default whoever is at this process's terminal.
    """

    folder: Path
    config: JobConfig
    bench: Bench
    mind: Mind
    journal: Journal
    ledger: Ledger
    tell: Callable[[str, str], None]
    changed: Callable[[Candidate], None]
    own_source: str | None
    person: Person | None = None


@contextmanager
def paradigm_for(means: Means) -> Generator[Paradigm]:
    """Yield the paradigm the config names.

    Raises:
        MisuseError: it, or the search's policy, does not exist; or a search is resumed with other settings.
    """
    budget = means.config.budget
    if means.config.paradigm == "auto":
        yield Climb(
            bench=means.bench,
            mind=means.mind,
            journal=means.journal,
            limits=Limits(evaluations=budget.evaluations, wall_s=budget.wall_s),
            tell=means.tell,
            changed=means.changed,
            own_source=means.own_source,
            ledger=means.ledger,
        )
        return
    if means.config.paradigm == "hitl":
        yield Session(
            bench=means.bench,
            mind=means.mind,
            journal=means.journal,
            ledger=means.ledger,
            hearing=Hearing(means.person or TerminalPerson(), means.journal, means.folder),
            tell=means.tell,
            changed=means.changed,
            own_source=means.own_source,
        )
        return
    if means.config.paradigm != "search":
        raise MisuseError(
            f"The paradigm {means.config.paradigm!r} does not run as a job.",
            allowed="auto, search, hitl.",
            action="Choose one.",
        )
    graph = Graph(means.folder / "graph.sqlite3")
    try:
        yield _search(means, graph)
    finally:
        graph.close()


def _search(means: Means, graph: Graph) -> Search:
    config, mind = means.config, means.mind
    policy = make_policy(config.policy)
    graph.fix("policy", config.policy)
    graph.fix("seed", str(config.seed))
    builtin = isinstance(mind, BuiltinMind)
    return Search(
        bench=means.bench,
        mind=mind,
        journal=means.journal,
        graph=graph,
        policy=policy,
        proposer=BlueprintProposer(mind, means.own_source) if builtin else PromptedProposer(mind, means.own_source),
        limits=Limits(
            evaluations=config.budget.evaluations,
            wall_s=config.budget.wall_s,
            patience=PATIENCE,
            failures=FAILURES,
        ),
        seed=config.seed,
        ledger=means.ledger,
        tell=means.tell,
        changed=means.changed,
    )
