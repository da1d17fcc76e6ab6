"""The lab as its faces see it: calls, hand-over to jobs, cancellation, interruption, failures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

import jaxbench
from maxkernel_lab.answers import is_misuse
from maxkernel_lab.jobs import JobFolder, work
from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.records.jobs import JobResult, RunResult
from maxkernel_tools.records.tasks import TaskListResult, TaskResult
from tests.lab.doubles import ScriptedRuntime

pytestmark = pytest.mark.anyio

_TASK = {"task": "8p_GEMM"}


def _settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", workspace=tmp_path, roots=(tmp_path,))


@asynccontextmanager
async def _lab(tmp_path: Path, runtime: ScriptedRuntime) -> AsyncIterator[Lab]:
    async with Lab.open(_settings(tmp_path), jaxbench.task_roots(), opener=runtime.opened) as lab:
        yield lab


def _open_runtime() -> ScriptedRuntime:
    runtime = ScriptedRuntime()
    runtime.gate.set()
    return runtime


async def test_a_call_answers_and_leaves_a_record(tmp_path: Path) -> None:
    async with _lab(tmp_path, _open_runtime()) as lab:
        result = await lab.call("get_task", _TASK)
        assert isinstance(result, TaskResult)
        assert result.ok
        assert result.input_specs == ("bf16[8192,8192]", "bf16[8192,28672]")
        assert result.roofline_us["v6e"] == pytest.approx(4192, rel=0.01)
        run = await lab.call("get_run", {"run_id": result.run_id})
        assert isinstance(run, RunResult)
        assert run.kind == "task"
        listed = await lab.call("list_tasks", {"query": "gemm relu", "limit": 3})
        assert isinstance(listed, TaskListResult)
        assert "41k_Gemm_Add_ReLU" in {task.id for task in listed.tasks}


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("compile_kernal", {}, "compile_kernel"),
        ("compile_kernel", {"blok_m": 64}, "params"),
        ("compile_kernel", {"target": ["v6e"]}, "Did you mean targets"),
        ("compile_kernel", {"source": "x = 1"}, "Neither a task nor inputs"),
        ("compile_kernel", {"inputs": ["f32[8]"]}, "exactly one of source"),
        ("compile_kernel", {"source": "x", "path": "k.py", "inputs": ["f32[8]"]}, "exactly one of source"),
        ("compile_kernel", {"source": "x", "inputs": ["f99[8]"]}, "bf16[8192,8192]"),
        ("compile_kernel", {"source": "x", "inputs": ["f32[8]"], "targets": ["v9"]}, "tpu7x"),
        ("compile_kernel", {"source": "x", "task": "8p_GEM"}, "8p_GEMM"),
        ("compile_kernel", {"source": "x", "task": "8p_GEMM", "inputs": ["f32[8]"]}, "Leave one out"),
        ("compile_kernel", {"path": "absent.py", "task": "8p_GEMM"}, "does not exist"),
        ("compile_kernel", {"path": "/etc/passwd", "task": "8p_GEMM"}, "outside the allowed folders"),
        ("compile_kernel", {"source": "x" * 300_000, "task": "8p_GEMM"}, "256000"),
        ("compile_kernel", {"source": 7, "task": "8p_GEMM"}, "valid string"),
        ("compile_kernel", {"source": "x", "task": "/etc"}, "outside the allowed folders"),
        ("test_kernel", {"source": "x", "inputs": ["f32[8]"]}, "nothing to compare with"),
        ("test_kernel", {"source": "x", "task": "8p_GEMM", "level": "slow"}, "sanitize"),
        ("profile_kernel", {"source": "x", "task": "8p_GEMM", "against": "r-0"}, "no profile of run"),
        ("get_job", {}, "needs job_id"),
        ("get_job", {"job_id": "../../etc"}, "Unknown job"),
        ("get_job", {"job_id": "j-1", "wait_s": 100}, "40"),
        ("get_run", {"run_id": "r-0"}, "Unknown run"),
        ("list_tasks", {"limit": 0}, "greater than or equal to 1"),
        ("start_optimization", {}, "Neither a task nor inputs"),
    ],
)
async def test_a_wrong_call_is_told_what_is_allowed(tmp_path: Path, name: str, arguments: dict, words: str) -> None:
    async with _lab(tmp_path, _open_runtime()) as lab:
        result = await lab.call(name, arguments)
        assert is_misuse(result)
        assert result.ok is False
        assert result.state == "done"
        assert words in result.summary
        assert result.findings[0].hint


async def test_a_long_call_becomes_a_job_and_goes_on(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with _lab(tmp_path, runtime) as lab:
        started = await lab.call("get_task", _TASK, handover_s=0.05)
        assert (started.ok, started.state) == (None, "running")
        assert started.job_id
        running = await lab.call("get_job", {"job_id": started.job_id})
        assert isinstance(running, JobResult)
        assert (running.ok, running.job_state, running.kind) == (None, "running", "call")
        runtime.gate.set()
        done = await lab.call("get_job", {"job_id": started.job_id, "wait_s": 20})
        assert isinstance(done, JobResult)
        assert (done.ok, done.job_state) == (True, "done")
        assert done.result is not None
        assert done.result["task"]["id"] == "8p_GEMM"
        assert runtime.cancelled == 0


async def test_cancelling_a_call_cancels_its_work(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with _lab(tmp_path, runtime) as lab, anyio.create_task_group() as tasks:
        tasks.start_soon(lab.call, "get_task", _TASK)
        await runtime.entered.wait()
        tasks.cancel_scope.cancel()
    assert runtime.cancelled == 1
    assert runtime.closed == 1


async def test_a_job_of_a_closed_lab_is_interrupted_and_resumed_elsewhere(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with _lab(tmp_path, runtime) as lab:
        job_id = (await lab.call("get_task", _TASK, handover_s=0.05)).job_id
        async with _lab(tmp_path, _open_runtime()) as other:
            seen = await other.call("get_job", {"job_id": job_id})
            assert isinstance(seen, JobResult)
            assert seen.job_state == "running"
    async with _lab(tmp_path, _open_runtime()) as lab:
        seen = await lab.call("get_job", {"job_id": job_id})
        assert isinstance(seen, JobResult)
        assert seen.job_state == "interrupted"
        assert "resume_job" in seen.summary
        await lab.call("resume_job", {"job_id": job_id})
        done = await lab.call("get_job", {"job_id": job_id, "wait_s": 20})
        assert isinstance(done, JobResult)
        assert (done.job_state, done.ok) == ("done", True)


async def test_a_job_is_cancelled_from_another_lab(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with _lab(tmp_path, runtime) as lab, _lab(tmp_path, _open_runtime()) as other:
        job_id = (await lab.call("get_task", _TASK, handover_s=0.05)).job_id
        cancelled = await other.call("cancel_job", {"job_id": job_id})
        assert isinstance(cancelled, JobResult)
        assert cancelled.job_state == "cancelled"
        assert runtime.cancelled == 1
        runtime.gate.set()
        resumed = await other.call("resume_job", {"job_id": job_id})
        assert isinstance(resumed, JobResult)
        assert resumed.job_state in {"running", "done"}


async def test_a_caller_hears_something_while_all_is_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "HEARTBEAT_S", 0.02)
    runtime = ScriptedRuntime()
    heard: list[str] = []

    async def listen(done: float, total: float | None, message: str) -> None:
        heard.append(message)
        if len(heard) > 4:
            runtime.gate.set()

    async with _lab(tmp_path, runtime) as lab:
        await lab.call("get_task", _TASK, listen)
    assert len(heard) > 4


@pytest.mark.parametrize("error", [MachineryError("the disk is full"), RuntimeError("secret internals")])
async def test_a_failure_of_the_lab_is_not_held_against_the_kernel(tmp_path: Path, error: Exception) -> None:
    runtime = _open_runtime()
    runtime.error = error
    async with _lab(tmp_path, runtime) as lab:
        result = await lab.call("get_task", _TASK)
        assert (result.ok, result.state) == (False, "failed")
        assert result.findings[0].code == "machinery-failed"
        assert "secret internals" not in result.summary
        runtime.error = None
        assert (await lab.call("get_task", _TASK)).ok


async def test_a_prepared_optimisation_is_taken_up_by_the_same_command(tmp_path: Path) -> None:
    arguments = {"task": "8p_GEMM", "budget": 3}
    async with _lab(tmp_path, _open_runtime()) as lab:
        first = await lab.prepare_optimization(arguments)
        assert isinstance(first, JobFolder)
        assert first.state() == "interrupted"
        again = await lab.prepare_optimization(arguments)
        other = await lab.prepare_optimization({**arguments, "budget": 4})
        assert isinstance(again, JobFolder)
        assert isinstance(other, JobFolder)
        assert again.job_id == first.job_id != other.job_id
        lock = first.lock()
        assert lock is not None
        assert first.state() == "running"
        busy = await lab.prepare_optimization(arguments)
        assert isinstance(busy, JobFolder)
        assert busy.job_id != first.job_id
