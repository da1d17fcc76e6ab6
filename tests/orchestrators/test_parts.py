"""Parts of the orchestrator by themselves: roles, stopping rules, journal, parameters in text, exit codes."""

from __future__ import annotations

import ast
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from maxkernel_orchestrators.job import JobFolder, Journal
from maxkernel_orchestrators.process.main import MISUSE, main
from maxkernel_orchestrators.reporting.params import with_params
from maxkernel_orchestrators.roles import ROLES, Plan, load_role
from maxkernel_orchestrators.stepping.candidates import Candidate, CandidateState, better
from maxkernel_orchestrators.stepping.own_kernel import own_implementation
from maxkernel_orchestrators.stepping.stopping import Limits, stop_reason
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.profiles import ProfileResult
from maxkernel_tools.records.verdicts import TestResult


class Answer(Record):
    """What a step of these tests answers."""

    number: int


def candidate(
    name: str, time_us: float | None, state: CandidateState = "verified", source: str = "schedule-model"
) -> Candidate:
    profile = ProfileResult.model_validate(
        {
            "ok": True,
            "summary": "",
            "target": "v6e",
            "time_us": time_us,
            "time_source": source,
            "roofline_fraction": 0.5,
        }
    )
    correct = TestResult(ok=True, summary="", verdict="correct")
    verified = state == "verified"
    return Candidate(
        name=name,
        parent=None,
        plan=Plan(move="m", hypothesis="h"),
        source="",
        state=state,
        test=correct if verified else None,
        profile=profile if verified else None,
    )


@pytest.mark.parametrize("name", ROLES)
def test_every_role_has_a_file_whose_placeholders_must_all_be_filled(name: str) -> None:
    role = load_role(name)
    filled = role.prompt(**dict.fromkeys(role.placeholders, "{{task}} stays text"))
    assert "form" in role.placeholders
    assert "{{task}} stays text" in filled
    with pytest.raises(ValueError, match="not filled"):
        role.prompt()
    with pytest.raises(ValueError, match="nonsense"):
        role.prompt(**dict.fromkeys(role.placeholders, ""), nonsense="")


def test_an_unknown_role_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="planner"):
        load_role("manager")


def test_an_unverified_candidate_is_never_better() -> None:
    assert not better(candidate("a", 1.0, "incorrect"), None)
    assert better(candidate("a", 5.0), candidate("b", 6.0))
    assert not better(candidate("a", 6.0), candidate("b", 5.0))


def test_times_of_different_sources_are_not_compared() -> None:
    assert not better(candidate("a", 1.0, source="schedule-model"), candidate("b", 5.0, source="device"))


def test_each_stopping_rule() -> None:
    limits = Limits(evaluations=10, wall_s=100, patience=2, failures=2)
    good = candidate("a", 10.0)
    assert stop_reason(limits, [good], good, 3, 5) is None
    assert stop_reason(limits, [good], good, 10, 5) == "evaluations"
    assert stop_reason(limits, [good], good, 3, 100) == "wall-time"
    assert stop_reason(limits, [good, candidate("b", 9.99), candidate("c", 9.98)], good, 3, 5) == "marginal-return"
    bad = candidate("d", None, "not-compiled")
    assert stop_reason(limits, [good, bad, bad], good, 3, 5) == "too-many-failures"
    at_roofline = good.model_copy(update={"profile": good.profile.model_copy(update={"roofline_fraction": 0.99})})
    assert stop_reason(limits, [at_roofline], at_roofline, 3, 5) == "roofline"


def test_parameters_are_put_where_they_stand_and_nothing_else_changes() -> None:
    source = (
        '"""µ kernel."""\nPARAMS = {"A": 1, "B": 2}  # µs\n\n\ndef workload(x, A=1, *, B=2, C="keep"):\n    return x\n'
    )
    text = with_params(source, {"A": 8, "B": 16})
    assert '"""µ kernel."""\nPARAMS = {"A": 8, "B": 16}  # µs' in text
    assert 'def workload(x, A=8, *, B=16, C="keep"):' in text
    ast.parse(text)


def test_a_file_without_a_parameter_table_gets_one() -> None:
    text = with_params("def workload(x, A=1):\n    return x\n", {"A": 4})
    assert "def workload(x, A=4):" in text
    assert 'PARAMS = {"A": 4}' in text


def test_a_users_space_is_tried_one_change_at_a_time() -> None:
    own = own_implementation('PARAMS = {"A": 1, "B": 2}\nSPACE = {"A": [1, 3], "B": [2, 4]}\ndef workload(x): ...\n')
    assert own.params == {"A": 1, "B": 2}
    assert own.trials == ({"A": 3, "B": 2}, {"A": 1, "B": 4})
    assert own_implementation("def broken(:").trials == ()


def test_a_finished_step_is_not_done_again_after_a_kill(tmp_path: Path) -> None:
    """A child finishes a step and is killed with -9 before anything is closed."""
    path = tmp_path / "journal.sqlite3"
    script = (
        "import anyio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from maxkernel_orchestrators.job import Journal\n"
        "from tests.orchestrators.test_parts import Answer\n"
        "async def do(): return Answer(number=42)\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "anyio.run(lambda: journal.step('kind', {'a': 1}, Answer, do))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join(str(root / part) for part in ("", "tools", "orchestrators"))
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], env={**os.environ, "PYTHONPATH": paths}, timeout=120, check=False
    )
    assert done.returncode == -signal.SIGKILL
    journal = Journal(path)

    async def never() -> Answer:
        raise AssertionError("a finished step was done again")

    assert anyio.run(lambda: journal.step("kind", {"a": 1}, Answer, never)).number == 42
    assert journal.replayed == 1
    journal.close()


def test_an_answer_that_is_not_final_is_asked_for_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite3")
    numbers = iter((1, 2))

    async def do() -> Answer:
        return Answer(number=next(numbers))

    def step(*, final: bool) -> int:
        return anyio.run(lambda: journal.step("kind", {}, Answer, do, lambda answer: final)).number

    assert step(final=False) == 1
    assert step(final=True) == 2
    assert step(final=True) == 2
    journal.close()


def test_the_journal_survives_readers_beside_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite3")
    other = sqlite3.connect(tmp_path / "journal.sqlite3")
    assert other.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    journal.keep_candidate("c1", 1, candidate("c1", 3.0))
    assert [found.name for found in journal.candidates(Candidate)] == ["c1"]
    other.close()
    journal.close()


def test_a_job_has_one_owner(tmp_path: Path) -> None:
    first = JobFolder(tmp_path).own()
    with pytest.raises(MisuseError, match="another process"):
        JobFolder(tmp_path).own()
    os.close(first)
    os.close(JobFolder(tmp_path).own())


def test_a_folder_that_is_no_job_is_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--job-dir", str(tmp_path), "--json", "--serve-command", "true"]) == MISUSE
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_a_job_that_is_done_is_answered_from_its_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text('{"task": "41k"}')
    (tmp_path / "result.json").write_text('{"ok": true, "summary": "a kernel", "task": "41k"}')
    assert main(["--job-dir", str(tmp_path), "--json", "--serve-command", "false"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"] == "a kernel"


def test_a_lab_that_cannot_be_started_is_the_machinerys_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text('{"task": "41k"}')
    assert main(["--job-dir", str(tmp_path), "--json", "--serve-command", "/nonexistent/maxkernel"]) == 3
    assert json.loads(capsys.readouterr().out)["state"] == "failed"
    assert not (tmp_path / "result.json").exists()
