"""Admission: count and memory over processes, order within one, and slots freed by kill -9."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from maxkernel_lab.admission import Admission
from maxkernel_tools.errors import DeadlineError, MachineryError
from tests.lab.processes import python_environment

pytestmark = pytest.mark.anyio

_HOLDER = """
import sys, anyio
from pathlib import Path
from maxkernel_lab.admission import Admission
async def main():
    admission = Admission(Path(sys.argv[1]), workers=int(sys.argv[2]), memory_bytes=1000)
    async with admission.admit(int(sys.argv[3])):
        print("held", flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


def _holder(folder: Path, workers: int, memory: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _HOLDER, str(folder), str(workers), str(memory)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=python_environment())
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def _kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(30)


async def test_a_slot_held_by_another_process_is_freed_by_its_death(tmp_path: Path) -> None:
    holder = _holder(tmp_path, 1, 0)
    waiting = Admission(tmp_path, workers=1, memory_bytes=1000, timeout_s=0.3)
    with pytest.raises(DeadlineError, match="1 jobs at once"):
        async with waiting.admit():
            pass
    _kill(holder)
    async with Admission(tmp_path, workers=1, memory_bytes=1000, timeout_s=10).admit():
        pass


async def test_memory_is_counted_over_processes(tmp_path: Path) -> None:
    holder = _holder(tmp_path, 4, 700)
    try:
        admission = Admission(tmp_path, workers=4, memory_bytes=1000, timeout_s=0.3)
        async with admission.admit(300):
            with pytest.raises(DeadlineError):
                async with admission.admit(1):
                    pass
    finally:
        _kill(holder)


async def test_a_job_larger_than_the_machine_runs_alone(tmp_path: Path) -> None:
    admission = Admission(tmp_path, workers=2, memory_bytes=1000, timeout_s=0.3)
    async with admission.admit(5000):
        with pytest.raises(DeadlineError):
            async with admission.admit(1):
                pass


async def test_waiters_of_one_process_are_served_in_order(tmp_path: Path) -> None:
    admission = Admission(tmp_path, workers=1, memory_bytes=1000)
    served: list[int] = []

    async def job(number: int, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        async with admission.admit():
            served.append(number)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            await tasks.start(job, number)
    assert served == list(range(8))


async def test_a_cancelled_waiter_leaves_nothing_behind(tmp_path: Path) -> None:
    admission = Admission(tmp_path, workers=1, memory_bytes=1000)
    async with admission.admit():
        with anyio.move_on_after(0.05) as scope:
            async with admission.admit():
                pytest.fail("admitted twice")
        assert scope.cancelled_caught
    async with admission.admit():
        pass


async def test_a_folder_that_cannot_be_used_is_the_labs_failure(tmp_path: Path) -> None:
    with pytest.raises(MachineryError, match="admission folder"):
        async with Admission(tmp_path / "missing", workers=1, memory_bytes=1).admit():
            pass
