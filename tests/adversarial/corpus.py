"""The adversarial corpus: cheats by kind, each with an honest twin, and how the grader judged them.

A cheat is held off when its verdict is not ``correct``; a twin is judged fairly when it is. Each cheat can also be
judged without the static rules, which are a first filter only: then isolation and fresh inputs must do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from maxkernel_tools.checking import test_kernel, testing
from maxkernel_tools.context import CallContext, KernelCall, Workload
from maxkernel_tools.records import Artifact, KernelSource
from maxkernel_tools.tasks import Task, input_specs, load_task

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Entry:
    """One cheat and its twin."""

    name: str
    kind: str
    task: str
    level: str
    codes: tuple[str, ...]

    def source(self, which: str) -> KernelSource:
        return KernelSource(text=(HERE / "kernels" / self.kind / self.name / f"{which}.py").read_text())


@dataclass(frozen=True)
class Outcome:
    """How one kernel of the corpus was judged."""

    name: str
    kind: str
    which: str
    rules: bool
    verdict: str
    codes: tuple[str, ...]
    summary: str

    @property
    def as_it_should_be(self) -> bool:
        return (self.verdict == "correct") == (self.which == "twin")


class Sink:
    """Forgets artifacts."""

    async def put(self, name: str, kind: str, data: bytes | str | Path) -> Artifact:
        size = len(data.read_bytes() if isinstance(data, Path) else data)  # noqa: ASYNC240 - a fake
        return Artifact(uri=f"maxkernel://runs/r-test/{name}", kind=kind, bytes=size)


def entries() -> list[Entry]:
    raw: dict[str, dict[str, Any]] = json.loads((HERE / "corpus.json").read_text())
    return [Entry(name, item["kind"], item["task"], item["level"], tuple(item["codes"])) for name, item in raw.items()]


def task(name: str) -> Task:
    return load_task(HERE / "tasks" / name)


def call_of(entry: Entry, which: str) -> KernelCall:
    found = task(entry.task)
    workload = Workload(input_specs(found.facts), found.facts.id, found, found.reference)
    return KernelCall(entry.source(which), workload)


async def judge(runtime: Any, entry: Entry, which: str, *, rules: bool = True) -> Outcome:
    """Judge one kernel of the corpus; ``rules`` says whether the static rules are in force."""

    async def ignore(*_: Any) -> None:
        return None

    context = CallContext(runtime, Sink(), ignore, "r-test")
    with rules_in_force(wanted=rules):
        result = await test_kernel(call_of(entry, which), entry.level, context)
    codes = tuple(item.code.value for item in result.findings)
    return Outcome(entry.name, entry.kind, which, rules, result.verdict, codes, result.summary)


@contextmanager
def rules_in_force(*, wanted: bool) -> Iterator[None]:
    """Judge with or without the static rules."""
    kept: Callable[..., Any] = testing.inspect_source
    if not wanted:
        testing.inspect_source = lambda _: ()
    try:
        yield
    finally:
        testing.inspect_source = kept


def table(outcomes: list[Outcome]) -> dict[str, Any]:
    """Return the counts by kind and every exception, as plain data."""
    kinds: dict[str, dict[str, int]] = {}
    for item in outcomes:
        row = kinds.setdefault(item.kind, {"cheats": 0, "held_off": 0, "without_rules": 0, "twins": 0, "accepted": 0})
        if item.which == "twin":
            row["twins"] += 1
            row["accepted"] += item.as_it_should_be
        elif item.rules:
            row["cheats"] += 1
            row["held_off"] += item.as_it_should_be
        else:
            row["without_rules"] += item.as_it_should_be
    wrong = [asdict(item) for item in outcomes if not item.as_it_should_be and (item.rules or item.which == "twin")]
    return {
        "kinds": kinds,
        "false_accepts": [item for item in wrong if item["which"] == "cheat"],
        "false_refusals": [item for item in wrong if item["which"] == "twin"],
        "accepted_without_rules": [
            item.name for item in outcomes if item.which == "cheat" and not item.rules and not item.as_it_should_be
        ],
    }
