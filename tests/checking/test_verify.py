"""``maxkernel verify``: a verdict that stands, and one of everything that can make it fall."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maxkernel_lab.answers import is_misuse
from maxkernel_lab.home import Home
from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings
from maxkernel_tools.records.verdicts import VerifyResult
from tests.adversarial.corpus import HERE, entries

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

pytestmark = pytest.mark.toolchain

KERNEL = next(entry for entry in entries() if entry.name == "zeros").source("twin").text


class Place:
    """A lab over a home of its own, with a task folder and a project that may be changed."""

    def __init__(self, portal: BlockingPortal, lab: Lab, folder: Path) -> None:
        self._portal = portal
        self._lab = lab
        self.task = folder / "affine"
        self.project = folder / "project"
        self.home = Home(folder / "home")

    def call(self, name: str, **arguments: Any) -> Any:
        return self._portal.call(self._lab.call, name, arguments)

    def verify(self, run_id: str, *, hashes_only: bool = True) -> VerifyResult:
        return self.call("verify_run", run_id=run_id, hashes_only=hashes_only)

    def accepted(self) -> str:
        result = self.call("test_kernel", source=KERNEL, task=str(self.task))
        assert result.verdict == "correct", result.summary
        return result.run_id

    def write(self, statement: str, *values: object) -> None:
        with closing(sqlite3.connect(self.home.database)) as database, database:
            assert database.execute(statement, values).rowcount

    def rewrite_result(self, run_id: str, change: Callable[[dict[str, Any]], None]) -> None:
        with closing(sqlite3.connect(self.home.database)) as database:
            row = database.execute("SELECT result FROM stages WHERE run_id=? AND stage='test'", (run_id,)).fetchone()
        result = json.loads(row[0])
        change(result)
        self.write("UPDATE stages SET result=? WHERE run_id=? AND stage='test'", json.dumps(result), run_id)


@pytest.fixture
def place(portal: BlockingPortal, runtime: Any, tmp_path: Path) -> Iterator[Place]:
    shutil.copytree(HERE / "tasks" / "affine", tmp_path / "affine")
    settings = Settings(home=tmp_path / "home", workspace=tmp_path, roots=(tmp_path,))

    @asynccontextmanager
    async def shared() -> Any:
        yield runtime

    with portal.wrap_async_context_manager(Lab.open(settings, (), opener=shared)) as lab:
        yield Place(portal, lab, tmp_path)


def names(result: VerifyResult) -> list[str]:
    return [item.what for item in result.differences]


def test_a_verdict_that_stands(place: Place) -> None:
    run_id = place.accepted()
    result = place.verify(run_id, hashes_only=False)
    assert result.ok is True, result.summary
    assert (result.rerun, result.verdict_then, result.verdict_now) == (True, "correct", "correct")
    assert "grader" in result.compared
    kept = {artifact.uri.rsplit("/", 1)[-1] for artifact in place.call("get_run", run_id=run_id).artifacts}
    assert {"test-cases.json", "verify-test-cases.json"} <= kept


def test_everything_that_was_changed_afterwards_is_named(place: Place) -> None:
    run_id = place.accepted()
    assert place.verify(run_id).ok is True

    reference = place.task / "reference.py"
    whole = reference.read_text()
    reference.write_text(whole + "\n# changed\n")
    assert names(place.verify(run_id)) == ["the task (or reference and inputs)"]
    reference.write_text(whole)

    with closing(sqlite3.connect(place.home.database)) as database:
        filed = database.execute("SELECT sha256 FROM artifacts WHERE run_id=? AND name='kernel.py'", (run_id,))
        digest = filed.fetchone()[0]
    artifact = place.home.artifacts / digest[:2] / digest
    artifact.chmod(0o600)
    artifact.write_text(KERNEL + "\n# changed\n")
    result = place.verify(run_id)
    assert result.ok is False
    assert set(names(result)) == {"the artifact kernel.py", "the kernel"}
    assert all(item.code.value == "receipt-mismatch" and item.hint for item in result.findings)
    artifact.write_text(KERNEL)

    def other_seeds(result: dict[str, Any]) -> None:
        result["cases"][0]["seed"] += 1

    place.rewrite_result(run_id, other_seeds)
    assert names(place.verify(run_id)) == ["the seeds"]


def test_a_verdict_that_was_written_in_falls_when_judged_again(place: Place) -> None:
    run_id = place.accepted()
    wrong = KERNEL.replace("x_ref[...]", "0 * x_ref[...]")
    assert wrong != KERNEL
    refused = place.call("test_kernel", source=wrong, task=str(place.task))
    assert refused.verdict == "incorrect"
    refusal = place.verify(refused.run_id)
    assert is_misuse(refusal)
    assert "no accepted verdict" in refusal.summary

    # The index alone says correct: no receipt, and the record says otherwise.
    place.write("UPDATE stages SET verdict='correct' WHERE run_id=? AND stage='test'", refused.run_id)
    assert {"the verdict in the index", "the receipt"} <= set(names(place.verify(refused.run_id)))

    # A whole forged record with a receipt made for the wrong kernel: only judging again tells.
    with closing(sqlite3.connect(place.home.database)) as database:
        row = database.execute("SELECT result FROM stages WHERE run_id=? AND stage='test'", (run_id,)).fetchone()
    forged = json.loads(row[0])
    from maxkernel_tools.checking import receipts
    from maxkernel_tools.context import KernelCall, Workload
    from maxkernel_tools.records import KernelSource
    from maxkernel_tools.tasks import input_specs, load_task

    task = load_task(place.task)
    call = KernelCall(KernelSource(text=wrong), Workload(input_specs(task.facts), "affine", task, task.reference))
    forged["receipt"]["candidate_sha256"] = receipts.candidate_hash(call)
    place.write("UPDATE stages SET result=? WHERE run_id=?", json.dumps(forged), refused.run_id)
    assert place.verify(refused.run_id).ok is True
    again = place.verify(refused.run_id, hashes_only=False)
    assert again.ok is False
    assert names(again) == ["the verdict"]
    assert (again.verdict_then, again.verdict_now) == ("correct", "incorrect")


def test_a_file_the_kernel_imported_belongs_to_its_verdict(place: Place) -> None:
    place.project.mkdir()
    helper = place.project / "shared_helper.py"
    helper.write_text("ONE = 1\n")
    text = "import shared_helper\n" + KERNEL
    arguments = {"source": text, "task": str(place.task), "import_roots": [str(place.project)]}
    result = place.call("test_kernel", **arguments)
    assert result.verdict == "correct", result.summary
    assert list(result.receipt.imported_files) == ["shared_helper.py"]
    assert place.verify(result.run_id).ok is True
    helper.write_text("ONE = 2\n")
    assert names(place.verify(result.run_id)) == ["the imported file shared_helper.py"]
    helper.unlink()
    assert place.verify(result.run_id).differences[0].now == "absent"


def test_an_unknown_run_is_misuse(place: Place) -> None:
    assert is_misuse(place.verify("r-000000000000"))
