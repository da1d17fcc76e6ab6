"""The audit: it lets nothing in that it should not, it would notice if it did, and its committed table is in step."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from jaxbench import task_roots
from jaxbench.audit.auditing import audit_tasks
from jaxbench.audit.service import audit_service
from jaxbench.audit.table import TABLE_FILE, AuditTable, TaskAudit, explained, read_table
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.tasks import Task, TaskCatalog, load_task

CATALOG = TaskCatalog(task_roots())


def run_audit(tasks: list[Task], modes: tuple[Any, ...], jobs: int = 1) -> dict[str, TaskAudit]:
    found: dict[str, TaskAudit] = {}

    async def report(task: Task, audit: TaskAudit) -> None:
        found[task.facts.id] = audit

    anyio.run(audit_tasks, tasks, modes, jobs, report)
    return found


def weakened(folder: Path, task: str, old: str, new: str) -> Task:
    """A copy of a task whose inputs were changed."""
    copy = shutil.copytree(CATALOG.find(task).folder, folder / task)
    text = (copy / "reference.py").read_text()
    assert old in text
    (copy / "reference.py").write_text(text.replace(old, new))
    return load_task(copy)


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TaskAudit]:
    """A few tasks as they are, and two whose inputs have been weakened, audited in one process."""
    folder = tmp_path_factory.mktemp("weakened")
    mean = "bias = 0.5 * rng.standard_normal(N, dtype=np.float32)"
    zeroed = weakened(folder, "41k_Gemm_Add_ReLU", mean, "bias = np.zeros(N, np.float32)")
    uniform = weakened(folder, "4p_Sparse_Attention", "np.float32(np.sqrt(D))", "np.float32(1000 * D)")
    names = ("6p_Paged_Attention", "12p_RMSNorm", "26k_BMM_InstanceNorm_Sum_ResidualAdd_Multiply")
    return run_audit([*(CATALOG.find(name) for name in names), zeroed, uniform], ("hardened",))


@pytest.mark.parametrize("name", ["6p_Paged_Attention", "12p_RMSNorm"])
def test_nothing_trivial_passes_and_honest_work_does(audited: dict[str, TaskAudit], name: str) -> None:
    mode = audited[name].hardened
    assert mode is not None
    assert mode.passes == ()
    assert mode.honest
    assert {"zeros", "constant", "mean", "one-sample", "stale-buffer", "dropped-tail-first-axis"} <= set(mode.tried)


def test_metadata_taken_for_granted_is_tried(audited: dict[str, TaskAudit]) -> None:
    mode = audited["6p_Paged_Attention"].hardened
    assert mode is not None
    assert {
        "ignored:kv_lens=largest",
        "ignored:page_indices=arange",
        "ignored:cu_q_lens=arange",
    } <= set(mode.tried)


def test_dead_algebra_passes_only_by_its_label(audited: dict[str, TaskAudit]) -> None:
    task = CATALOG.find("26k_BMM_InstanceNorm_Sum_ResidualAdd_Multiply")
    audit = audited[task.facts.id]
    assert audit.hardened is not None
    assert "ignored:x=zeros" in audit.hardened.passes
    assert "shortcut:no-product" in audit.hardened.passes
    assert "ignored:y=zeros" not in audit.hardened.passes
    assert audit.leaks(task.facts) == ()
    unlabelled = task.facts.model_copy(update={"labels": ()})
    assert set(audit.leaks(unlabelled)) == set(audit.hardened.passes)


def test_inputs_that_let_something_in_are_noticed(audited: dict[str, TaskAudit]) -> None:
    task = CATALOG.find("41k_Gemm_Add_ReLU")
    assert "ignored:bias=zeros" not in audited[task.facts.id].hardened.passes  # nothing to ignore: bias is zero there
    assert "ignored:bias=zeros" not in audited[task.facts.id].hardened.tried
    sparse = CATALOG.find("4p_Sparse_Attention")
    leaks = audited[sparse.facts.id].leaks(sparse.facts)
    assert "shortcut:running-mean" in leaks
    assert "ignored:q=zeros" in leaks


def test_the_committed_table_covers_every_task_as_it_is() -> None:
    table = read_table(TABLE_FILE)
    assert {audit.task for audit in table.tasks} == set(CATALOG.ids())
    for task in CATALOG.list():
        audit = table.of(task.facts.id)
        assert audit is not None
        assert audit.reference_sha256 == task.reference.sha256, f"{task.facts.id} changed: run `jaxbench audit` again"
        assert audit.labels == tuple(label.name for label in task.facts.labels)
        assert audit.hardened is not None
        assert audit.leaks(task.facts) == ()
        assert audit.hardened.honest
        assert all(explained(name, task.facts) for name in audit.hardened.passes)


def test_classic_mode_reproduces_the_known_leaks() -> None:
    """Measured, not typed in: what the published inputs and tolerance let pass."""
    table = read_table(TABLE_FILE)

    def lets_pass(task: str) -> tuple[str, ...]:
        audit = table.of(CATALOG.find(task).facts.id)
        assert audit is not None
        if audit.classic is None:
            pytest.skip(f"{task} was not audited in classic mode yet")
        return audit.classic_passes

    assert "zeros" in lets_pass("6p")
    assert "shortcut:running-mean" in lets_pass("4p")
    assert "ignored:rel_pos_bias=zeros" in lets_pass("5p")
    assert "shortcut:band-of-three" in lets_pass("16p")
    assert "shortcut:no-product" in lets_pass("26k")
    for task in ("19k", "48k"):
        assert "zeros" in lets_pass(task)


CUT_REDUCTIONS = {"3p": {"S"}, "13p": {"T"}, "17p": {"N"}}
"""Reductions classic mode cuts all the same; each task says why among its flaws."""


def test_classic_mode_keeps_full_reduction_dims() -> None:
    for audit in read_table(TABLE_FILE).tasks:
        facts = CATALOG.find(audit.task).facts
        assert set(facts.classic_dims) <= set(facts.dims)
        if audit.classic is not None:
            assert audit.classic.dims == {**facts.dims, **facts.classic_dims}
        smaller = {name for name, size in facts.classic_dims.items() if size != facts.dims[name]}
        cut = smaller & set(facts.tolerance.reduction_dims)
        assert cut == CUT_REDUCTIONS.get(audit.task.partition("_")[0], set())
        assert not cut or any(flaw.startswith("Classic mode cuts") for flaw in facts.flaws)


def test_a_table_keeps_modes_of_the_same_reference_only() -> None:
    hardened = {"dims": {}, "dtype": "bf16", "tried": (), "passes": (), "passes_flat": (), "honest": True}
    mode = {**hardened, "honest_flat": True}
    first = TaskAudit.model_validate({"task": "a", "reference_sha256": "1", "hardened": mode})
    second = TaskAudit.model_validate({"task": "a", "reference_sha256": "1", "classic": mode})
    other = TaskAudit.model_validate({"task": "a", "reference_sha256": "2", "classic": mode})

    both = AuditTable().merged(first).merged(second).of("a")
    assert both is not None
    assert both.hardened is not None
    assert both.classic is not None
    anew = AuditTable().merged(first).merged(other).of("a")
    assert anew is not None
    assert anew.hardened is None


def test_a_broken_task_is_the_machinerys_fault_with_its_words(tmp_path: Path) -> None:
    task = weakened(tmp_path, "8p_GEMM", "return jnp.matmul(A, B)", "return jnp.matmul(A, A)")

    async def ask() -> None:
        async with audit_service() as service:
            request = {
                "folder": str(task.folder),
                "facts": json.loads(task.facts.model_dump_json()),
                "dims": task.facts.small_shapes[0].dims,
                "dtype": "bf16",
                "mode": "hardened",
            }
            with pytest.raises(MachineryError, match="audit service failed"):
                await service.ask(request, 120)

    anyio.run(ask)


@pytest.mark.slow
def test_the_whole_hardened_audit_agrees_with_the_committed_table() -> None:
    """On all cores: 4 CPU seconds a task. An honest version of every task passes: one that keeps f32 inside."""
    table = read_table(TABLE_FILE)
    found = run_audit(CATALOG.list(), ("hardened",), jobs=os.cpu_count() or 1)
    assert set(found) == set(CATALOG.ids())
    for task, audit in found.items():
        committed = table.of(task)
        assert committed is not None
        assert audit.hardened is not None
        assert audit.hardened.honest
        assert audit.hardened.passes == (committed.hardened.passes if committed.hardened else None)


def test_the_service_dies_with_the_process_that_asks(tmp_path: Path) -> None:
    """SIGKILL leaves the asking process no time to clean up; the service must go all the same."""
    program = (
        "import anyio, os, signal\n"
        "from jaxbench.audit.service import audit_service\n"
        "async def main():\n"
        "    async with audit_service() as service:\n"
        "        try:\n"
        "            await service.ask({}, 120)\n"  # answers with an error, so it is up
        "        except Exception:\n"
        "            pass\n"
        "        print(service.pid, flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "anyio.run(main)\n"
    )
    search = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        text=True,
        timeout=180,
        env={**os.environ, "PYTHONPATH": search, "TMPDIR": str(tmp_path)},
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    pid = int(ended.stdout.split()[-1])
    for _ in range(500):  # ten seconds at most
        if not alive(pid):
            return
        select.select([], [], [], 0.02)
    pytest.fail(f"process {pid} outlived its parent")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
