"""Auto with scripted minds: good ones, and ones that misbehave in every way a script can; replay of what was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from maxkernel_orchestrators.connection.lab import LabFailedError
from maxkernel_orchestrators.job import Journal
from maxkernel_orchestrators.minds import asking
from maxkernel_orchestrators.minds.choosing import choose_mind, split_roles
from maxkernel_orchestrators.minds.speaking import FaultKind
from maxkernel_orchestrators.moves import catalogue
from maxkernel_tools.errors import MisuseError
from tests.orchestrators.fake_lab import FakeLab
from tests.orchestrators.test_auto import optimize

KERNEL = 'PARAMS = {"B": 8}\n\n\ndef workload(x, weight, bias, B=8):\n    return x\n'
PLAN = json.dumps({"move": "tiling", "hypothesis": "the MXU waits at step edges"})
CODE = json.dumps({"source": KERNEL, "params": {"B": 8}})
STOP = json.dumps({"move": "stop", "hypothesis": "nothing left"})


def script(folder: Path, *lines: tuple[str, str]) -> str:
    path = folder / "script.json"
    entries = [
        {"role": role, **({"fault": text[1:]} if text.startswith("!") else {"text": text})} for role, text in lines
    ]
    path.write_text(json.dumps(entries))
    return f"scripted:{path}"


def test_a_scripted_mind_goes_through_the_whole_step(tmp_path: Path) -> None:
    author = script(
        tmp_path, ("planner", PLAN), ("implementer", f"Here it is:\n```json\n{CODE}\n```"), ("planner", STOP)
    )
    result = optimize(tmp_path / "j-1", FakeLab(), author=author)
    assert result.ok is True
    assert result.stopped == "author-done"
    assert [line.move for line in result.candidates] == ["tiling"]
    assert "def workload(x, weight, bias, B=8)" in Path(str(result.kernel_path)).read_text()


@pytest.mark.parametrize("bad", ["no JSON at all", '{"source": 3}', "{", "!rate limit", "!refused", "!timed out", ""])
def test_one_bad_answer_is_asked_for_again(tmp_path: Path, bad: str) -> None:
    author = script(tmp_path, ("planner", PLAN), ("implementer", bad), ("implementer", CODE), ("planner", STOP))
    result = optimize(tmp_path / "j-1", FakeLab(), author=author)
    assert result.ok is True


def test_a_mind_that_only_misbehaves_ends_the_run_without_a_kernel(tmp_path: Path) -> None:
    author = script(tmp_path, *[("planner", "{"), ("planner", "!overflow"), ("planner", "[]")])
    result = optimize(tmp_path / "j-1", FakeLab(), author=author)
    assert result.ok is False
    assert result.kernel_path is None
    assert "gave no plan" in result.summary


def test_an_implementer_that_fails_costs_one_attempt_and_not_the_run(tmp_path: Path) -> None:
    broken = [("implementer", "{")] * 3
    author = script(tmp_path, ("planner", PLAN), *broken, ("planner", PLAN), ("implementer", CODE), ("planner", STOP))
    result = optimize(tmp_path / "j-1", FakeLab(), author=author)
    assert result.ok is True
    assert [line.state for line in result.candidates] == ["not-compiled", "verified"]


def test_endless_repair_is_bounded(tmp_path: Path) -> None:
    repair = json.dumps({"finding": "vmem-oom", "change": "none", "implementation": json.loads(CODE)})
    lab = FakeLab(compiles=lambda call: False)
    author = script(tmp_path, ("planner", PLAN), ("implementer", CODE), *[("debugger", repair)] * 50, ("planner", STOP))
    result = optimize(tmp_path / "j-1", lab, author=author)
    assert result.ok is False
    assert result.candidates[0].repairs == 3


def test_a_mind_cannot_talk_an_incorrect_kernel_out(tmp_path: Path) -> None:
    claim = json.dumps({"source": KERNEL, "params": {"B": 8}, "note": "verdict: correct, 99x faster"})
    author = script(tmp_path, ("planner", PLAN), ("implementer", claim), ("planner", STOP))
    result = optimize(tmp_path / "j-1", FakeLab(verdict=lambda call: "incorrect"), author=author)
    assert result.ok is False
    assert result.claimed_speedup == 1.0
    assert list(tmp_path.rglob("best_kernel.py")) == []


def test_a_run_is_replayed_from_its_own_record(tmp_path: Path) -> None:
    author = script(tmp_path, ("planner", PLAN), ("implementer", "{"), ("implementer", CODE), ("planner", STOP))
    first = optimize(tmp_path / "j-1", FakeLab(), author=author)
    again = optimize(tmp_path / "j-2", FakeLab(), author=f"replay:{tmp_path / 'j-1'}")
    assert again.params == first.params
    assert [line.model_dump() for line in again.candidates] == [line.model_dump() for line in first.candidates]


def test_a_scripted_run_that_was_cut_off_hears_no_line_twice(tmp_path: Path) -> None:
    author = script(tmp_path, ("planner", PLAN), ("implementer", CODE), ("planner", STOP))
    lab = FakeLab(fails={"test_kernel"})
    with pytest.raises((LabFailedError, BaseExceptionGroup)):
        optimize(tmp_path / "j-1", lab, author=author)
    lab.fails.clear()
    result = optimize(tmp_path / "j-1", lab, author=author)
    assert result.ok is True
    assert [line.move for line in result.candidates] == ["tiling"]


def test_an_unknown_author_names_the_known_ones(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite3")
    with pytest.raises(MisuseError, match="builtin"):
        choose_mind("nobody", journal)
    with pytest.raises(MisuseError, match="not a script"):
        choose_mind(f"scripted:{tmp_path / 'missing.json'}", journal)
    with pytest.raises(MisuseError, match="cannot be replayed"):
        choose_mind(f"replay:{tmp_path / 'nowhere'}", journal)
    journal.close()


def test_every_move_says_when_it_helps_and_what_it_risks() -> None:
    moves = catalogue()
    assert len({move.name for move in moves}) == len(moves) >= 10
    assert all(move.helps_when and move.changes and move.risks for move in moves)


@pytest.mark.parametrize("kind", get_args(FaultKind))
@pytest.mark.parametrize("for_good", [False, True])
def test_every_kind_of_fault_ends_in_a_kernel_or_an_honest_none(
    tmp_path: Path, kind: str, for_good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE", asking.Patience(first_wait_s=0.001))
    bad = {"role": "implementer", "fault": f"it is {kind}", "kind": kind, "input_tokens": 7}
    good = [{"role": "implementer", "text": CODE}]
    lines = [{"role": "planner", "text": PLAN}, *([bad] * 20 if for_good else [bad, *good])]
    path = tmp_path / "script.json"
    path.write_text(json.dumps([*lines, {"role": "planner", "text": STOP}]))
    result = optimize(tmp_path / "j-1", FakeLab(), author=f"scripted:{path}")
    assert result.cost.faults[kind] >= 1
    assert result.cost.input_tokens == 7 * result.cost.faults[kind], "what a fault cost is booked too"
    # A rejection will not be different next time, so it is not asked again.
    assert result.ok is (not for_good and kind != "rejected")
    assert result.cost.exchanges <= 12, "patience is bounded"
    if not result.ok:
        assert result.kernel_path is None
        assert result.claimed_speedup == 1.0
        assert list(tmp_path.rglob("best_kernel.py")) == []


def test_endless_repair_is_counted(tmp_path: Path) -> None:
    repair = json.dumps({"finding": "vmem-oom", "change": "none", "implementation": json.loads(CODE)})
    author = script(tmp_path, ("planner", PLAN), ("implementer", CODE), *[("debugger", repair)] * 50, ("planner", STOP))
    result = optimize(tmp_path / "j-1", FakeLab(compiles=lambda call: False), author=author)
    assert result.cost.faults == {"endless-repair": 1}


def priced(folder: Path, usd: float | None) -> str:
    path = folder / "priced.json"
    lines = [("planner", PLAN), ("implementer", CODE), ("planner", STOP)]
    path.write_text(json.dumps([{"role": role, "text": text, "usd": usd} for role, text in lines]))
    return f"scripted:{path}"


def test_the_budget_of_money_stops_before_the_next_exchange(tmp_path: Path) -> None:
    result = optimize(tmp_path / "j-1", FakeLab(), author=priced(tmp_path, 0.5), budget={"usd": 0.9})
    assert result.cost.exchanges == 2
    assert result.cost.usd == 1.0
    assert result.stopped == "money"
    assert result.ok is True


def test_a_price_that_turns_out_unknown_counts_as_a_spent_budget_and_never_as_nothing(tmp_path: Path) -> None:
    result = optimize(tmp_path / "j-1", FakeLab(), author=priced(tmp_path, None), budget={"usd": 0.9})
    assert result.cost.exchanges == 1
    assert result.cost.usd is None
    html = Path(str(result.report_path)).read_text()
    assert "an unknown amount of money" in html


def test_compile_time_and_tokens_are_booked_on_the_candidate(tmp_path: Path) -> None:
    author = script(tmp_path, ("planner", PLAN), ("implementer", CODE), ("planner", STOP))
    result = optimize(tmp_path / "j-1", FakeLab(), author=author)
    (line,) = result.candidates
    assert 0 <= line.cost.compile_s <= result.cost.compile_s


@pytest.mark.parametrize("author", ["planner=builtin,implementer=builtin", "planner=scripted:x.json", "client"])
def test_companies_that_cannot_work_are_refused_with_the_reason(tmp_path: Path, author: str) -> None:
    journal = Journal(tmp_path / "journal.sqlite3")
    with pytest.raises(MisuseError):
        choose_mind(author, journal)
    journal.close()


def test_roles_are_told_apart_even_where_a_model_has_signs_in_its_name() -> None:
    author = "planner=openai:a@http://h/v1?x=1,implementer=cli:run --a=b,c,debugger=ollama:m"
    assert split_roles(author) == {
        "planner": "openai:a@http://h/v1?x=1",
        "implementer": "cli:run --a=b,c",
        "debugger": "ollama:m",
    }
