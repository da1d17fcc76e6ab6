"""Human in the loop with a person in memory: approvals gate what is carried out, edits count, sessions are taken up."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client

from maxkernel_orchestrators.hitl import Approvals, GatedMind, PersonLeftError
from maxkernel_orchestrators.job import JobConfig, JobFolder, Journal
from maxkernel_orchestrators.minds.port import Situation, Trouble
from maxkernel_orchestrators.process.work import Worker
from maxkernel_orchestrators.reporting import OptimizationResult
from maxkernel_orchestrators.reporting.display import Display
from maxkernel_orchestrators.roles import Implementation, Plan
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.plans import Decision
from maxkernel_tools.records.tasks import TaskResult
from tests.orchestrators.fake_lab import FakeLab
from tests.orchestrators.test_prompted_minds import CODE, KERNEL, PLAN, STOP, script


class Scripted:
    """A person who says what was laid out for them, and leaves when there is no more.

    ``edits`` maps a file's name to what they make of it.
    """

    def __init__(self, *words: str, edits: dict[str, str] | None = None) -> None:
        self.words = deque(words)
        self.edits = edits or {}
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)

    async def choose(self, question: str, options: Sequence[str]) -> str:
        word = await self.write(question)
        assert word in options
        return word

    async def write(self, question: str) -> str:
        if not self.words:
            raise PersonLeftError("The person left.")
        return self.words.popleft()

    async def edit(self, path: Path) -> bool:
        await anyio.Path(path).write_text(self.edits[path.name])
        return True


def session(folder: Path, lab: FakeLab, person: Scripted, author: str = "builtin") -> OptimizationResult:
    folder.mkdir(exist_ok=True)
    config = JobConfig.model_validate({"task": "41k", "paradigm": "hitl", "author": author})
    (folder / "config.json").write_text(config.model_dump_json())
    job = JobFolder(folder)
    journal = Journal(folder / "journal.sqlite3")
    worker = Worker(job, job.read_config(), journal, Display("test", enabled=False), person)
    try:
        return anyio.run(_connected, lab, worker)
    finally:
        journal.close()


async def _connected(lab: FakeLab, worker: Worker) -> OptimizationResult:
    async with Client(lab.server()) as client:
        return await worker.run(client)


def left(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(left(inner) for inner in error.exceptions)
    return isinstance(error, PersonLeftError)


def test_an_approved_plan_becomes_a_verified_kernel_with_the_approval_in_the_record(tmp_path: Path) -> None:
    promising = json.dumps({**json.loads(PLAN), "expects": [{"figure": "time_us", "direction": "down"}]})
    author = script(tmp_path, ("planner", promising), ("implementer", CODE), ("planner", PLAN))
    person = Scripted("approve", "go", "stop")
    result = session(tmp_path / "j-1", FakeLab(), person, author)
    assert result.ok is True
    assert result.paradigm == "hitl"
    assert result.stopped == "person"
    assert [decision.approved for decision in result.decisions] == [True]
    assert len(result.decisions[0].plan_hash) == 64
    text = "\n".join(person.shown)
    assert "Expected effect:" in text
    assert "time_us: down" in text
    assert "estimated from the compiler's schedule" in text


def test_nothing_is_implemented_that_the_person_did_not_approve(tmp_path: Path) -> None:
    lab = FakeLab()
    result = session(tmp_path / "j-1", lab, Scripted("stop"))
    assert result.ok is False
    assert lab.asked["compile_kernel"] == 0
    author = script(tmp_path, ("planner", PLAN), ("planner", PLAN))
    result = session(tmp_path / "j-2", lab, Scripted("reject", "too simple", "stop"), author)
    assert lab.asked["compile_kernel"] == 0
    assert [(one.approved, one.note) for one in result.decisions] == [(False, "too simple")]


def test_a_rejection_is_told_to_the_author(tmp_path: Path) -> None:
    author = script(tmp_path, ("planner", PLAN), ("planner", STOP))
    session(tmp_path / "j-1", FakeLab(), Scripted("reject", "no tiling, please"), author)
    journal = Journal(tmp_path / "j-1" / "journal.sqlite3")
    asked = journal._connection.execute("SELECT asked FROM steps WHERE kind = 'exchange' ORDER BY created").fetchall()
    journal.close()
    assert "no tiling, please" not in asked[0][0]
    assert "no tiling, please" in asked[1][0]


def test_an_edited_plan_is_what_is_approved_and_carried_out(tmp_path: Path) -> None:
    edited = json.dumps({"move": "fusion", "hypothesis": "mine"})
    author = script(tmp_path, ("planner", PLAN), ("implementer", CODE), ("planner", PLAN))
    person = Scripted("edit", "approve", "go", "stop", edits={"plan-c1.json": edited})
    result = session(tmp_path / "j-1", FakeLab(), person, author)
    assert [line.move for line in result.candidates] == ["fusion"]
    assert result.decisions[0].note == "edited by the person"


def test_a_plan_edited_into_nonsense_leaves_the_old_one(tmp_path: Path) -> None:
    author = script(tmp_path, ("planner", PLAN), ("implementer", CODE), ("planner", PLAN))
    person = Scripted("edit", "approve", "go", "stop", edits={"plan-c1.json": '{"move": ""}'})
    result = session(tmp_path / "j-1", FakeLab(), person, author)
    assert [line.move for line in result.candidates] == ["tiling"]
    assert any("That is no plan" in text for text in person.shown)


def test_edited_code_is_judged_like_any_other(tmp_path: Path) -> None:
    mine = "# mine\nPARAMS = {'B': 16}\n\n\ndef workload(x, weight, bias, B=16):\n    return x\n"
    author = script(tmp_path, ("planner", PLAN), ("implementer", CODE), ("planner", PLAN))
    words = ("approve", "edit", "go", "stop")
    result = session(tmp_path / "j-1", FakeLab(), Scripted(*words, edits={"kernel-c1.py": mine}), author)
    assert "# mine" in Path(str(result.kernel_path)).read_text()
    assert result.params == {"B": 16}
    lab = FakeLab(verdict=lambda call: "incorrect")
    person = Scripted("approve", "edit", "go", "give up", "stop", edits={"kernel-c1.py": mine})
    result = session(tmp_path / "j-2", lab, person, author)
    assert result.ok is False
    assert result.kernel_path is None


def test_a_failed_kernel_can_be_repaired_shown_as_a_diff_and_judged_again(tmp_path: Path) -> None:
    repaired = {"source": KERNEL.replace("return x", "return x + 0"), "params": {"B": 8}}
    repair = json.dumps({"finding": "wrong-result", "change": "adds", "implementation": repaired})
    author = script(tmp_path, ("planner", PLAN), ("implementer", CODE), ("debugger", repair), ("planner", PLAN))
    lab = FakeLab(verdict=lambda call: "correct" if "x + 0" in call["source"] else "incorrect")
    person = Scripted("approve", "go", "repair", "go", "stop")
    result = session(tmp_path / "j-1", lab, person, author)
    assert result.ok is True
    assert result.candidates[0].repairs == 1
    assert any("+    return x + 0" in text for text in person.shown)


def test_a_question_is_answered_without_a_model_too(tmp_path: Path) -> None:
    person = Scripted("ask", "why K whole?", "stop")
    session(tmp_path / "j-1", FakeLab(), person)
    assert any("Best so far: none yet" in text for text in person.shown)


@pytest.mark.parametrize("said", range(5))
def test_a_session_left_anywhere_goes_on_and_ends_alike(tmp_path: Path, said: int) -> None:
    words = ("approve", "go", "reject", "enough", "stop")
    lines = [("planner", PLAN), ("implementer", CODE), ("planner", PLAN.replace("tiling", "fusion"))]
    author = script(tmp_path, *lines, ("planner", PLAN.replace("tiling", "layout")))
    whole = session(tmp_path / "j-1", FakeLab(), Scripted(*words), author)
    lab = FakeLab()
    with pytest.raises((PersonLeftError, BaseExceptionGroup)) as failure:
        session(tmp_path / "j-2", lab, Scripted(*words[:said]), author)
    assert left(failure.value)
    assert not (tmp_path / "j-2" / "result.json").exists()
    result = session(tmp_path / "j-2", lab, Scripted(*words[said:]), author)
    assert result.params == whole.params
    assert [one.plan_hash for one in result.decisions] == [one.plan_hash for one in whole.decisions]
    assert lab.asked["compile_kernel"] == 2  # the kernel, and the final check for other generations


class Eager:
    """A mind that implements whatever it is given."""

    name = "eager"

    async def plan(self, situation: Situation) -> Plan | None:
        return Plan.model_validate_json(PLAN)

    async def implement(self, situation: Situation, plan: Plan) -> Implementation:
        return Implementation(source=KERNEL)

    async def repair(self, situation: Situation, plan: Plan, implementation: Implementation, trouble: Trouble) -> None:
        return None


@pytest.mark.anyio
async def test_the_gate_refuses_unapproved_changed_and_revoked_plans(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite3")
    approvals = Approvals(journal, "41k")
    mind = GatedMind(Eager(), approvals)
    situation = Situation(task=TaskResult(ok=True, summary=""), target="v6e", chip={}, label="41k")
    plan = Plan.model_validate_json(PLAN)
    with pytest.raises(MisuseError, match="not approved"):
        await mind.implement(situation, plan)
    await approvals.record(plan, approved=True, turn=1)
    assert (await mind.implement(situation, plan)).source == KERNEL
    for change in ({"hypothesis": "another"}, {"tiling": "512"}, {"vmem_bytes": 1}, {"move": "Tiling"}):
        with pytest.raises(MisuseError, match="changed"):
            await mind.implement(situation, plan.model_copy(update=change))
    with pytest.raises(MisuseError, match="not approved"):
        await GatedMind(Eager(), Approvals(journal, "8p_GEMM")).implement(situation, plan)
    await approvals.record(plan, approved=False, turn=2)
    trouble = Trouble("test", "wrong", (), 0)
    with pytest.raises(MisuseError, match="rejected"):
        await mind.repair(situation, plan, Implementation(source=KERNEL), trouble)
    assert all(isinstance(one, Decision) for one in approvals.decisions())
    journal.close()
