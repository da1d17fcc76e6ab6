"""The corpus under the grader: the static rules on every kernel, a cheat of each kind run; all in the slow tier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maxkernel_tools.guards import inspect_source
from maxkernel_tools.records.findings import Severity
from tests.adversarial.corpus import Entry, Outcome, entries, judge, table
from tests.adversarial.repeating import repeat

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

ENTRIES = {entry.name: entry for entry in entries()}
KINDS = {"timing", "reuse", "fake-output", "tampering", "laundering", "sniffing", "precision"}
# one that the text does not give away, of each kind
SUBSET = (
    "work-outside-the-kernel",
    "memo-by-identity",
    "one-block-written",
    "decoy-times-zero",
    "size-threshold",
    "abstract-mesh",
    "silent-bf16",
    "overwrites-each-step",
)


def rejected_by_rules(entry: Entry, which: str) -> list[str]:
    return [item.code.value for item in inspect_source(entry.source(which)) if item.severity is Severity.ERROR]


def test_the_corpus_holds_enough_of_every_kind() -> None:
    assert len(ENTRIES) >= 45
    assert {entry.kind for entry in ENTRIES.values()} == KINDS


@pytest.mark.parametrize("name", ENTRIES)
def test_the_rules_refuse_no_twin(name: str) -> None:
    assert rejected_by_rules(ENTRIES[name], "twin") == []


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.kind in ("tampering", "timing")])
def test_what_the_text_gives_away_is_refused_with_its_line(name: str) -> None:
    entry = ENTRIES[name]
    expected = {code for code in entry.codes if code.startswith("integrity")} - {"integrity-little-work-inside"}
    found = inspect_source(entry.source("cheat"))
    assert expected <= {item.code.value for item in found}
    for item in found:
        assert item.line is not None
        assert item.source_line


@pytest.mark.toolchain
@pytest.mark.parametrize("name", SUBSET)
def test_a_cheat_is_held_off(name: str, portal: BlockingPortal, runtime: Any) -> None:
    outcome = portal.call(judge, runtime, ENTRIES[name], "cheat")
    assert outcome.as_it_should_be, outcome
    assert not ENTRIES[name].codes or set(ENTRIES[name].codes) & set(outcome.codes)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["size-threshold", "silent-bf16"])
def test_its_honest_twin_is_accepted(name: str, portal: BlockingPortal, runtime: Any) -> None:
    outcome = portal.call(judge, runtime, ENTRIES[name], "twin")
    assert outcome.as_it_should_be, outcome


@pytest.mark.slow
@pytest.mark.toolchain
def test_no_false_accept_and_no_false_refusal(portal: BlockingPortal, runtime: Any, tmp_path: Path) -> None:
    outcomes: list[Outcome] = [
        portal.call(judge, runtime, entry, which) for entry in ENTRIES.values() for which in ("cheat", "twin")
    ]
    found = table(outcomes)
    (tmp_path / "adversarial.json").write_text(json.dumps(found, indent=1))
    assert found["false_accepts"] == []
    assert found["false_refusals"] == []
    missing = [
        item.name
        for item in outcomes
        if item.which == "cheat" and ENTRIES[item.name].codes and not set(ENTRIES[item.name].codes) & set(item.codes)
    ]
    assert missing == []


@pytest.mark.slow
@pytest.mark.toolchain
def test_repeated_verdicts_on_new_seeds_are_the_same(portal: BlockingPortal, runtime: Any) -> None:
    found = portal.call(repeat, runtime, 8)  # twenty by hand: python -m tests.adversarial --repeat 20
    assert len(found) == 10
    assert [item for item in found if not item.steady] == []
    assert all(sum(item.verdicts.values()) == 8 for item in found)
