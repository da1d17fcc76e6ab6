"""The limits of one compile, on processes that compute, wait, or hang."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import anyio
import pytest

from maxkernel_lab.runtimes.watching import Allowance, CompileWatch
from maxkernel_lab.supervision.processes import Supervised
from maxkernel_tools.runtime import ChildReport, compile_cpu_s

COMPUTES = "while True: pass"
HANGS = "import signal\nsignal.pause()"
TRICKLES = "import time\nwhile True:\n  time.sleep(0.02)\n  sum(range(200000))"
WAITS = "import time; time.sleep(0.6)"


async def watched(tmp_path: Path, statements: str, **limits: float) -> ChildReport:
    allowance = Allowance(**{"cpu_s": 60.0, "wall_s": 60.0, "standstill_s": 60.0, "memory_bytes": 1 << 30, **limits})
    process = await Supervised.start([sys.executable, "-I", "-c", statements], {}, [], tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.drain)
        watch = CompileWatch(process, allowance)
        tasks.start_soon(watch.run)
        with anyio.fail_after(40):
            code = await process.wait()
        tasks.cancel_scope.cancel()
    return watch.report(code)


@pytest.mark.parametrize(
    ("statements", "limits", "exceeded"),
    [
        (COMPUTES, {"cpu_s": 0.3}, "processor-time"),
        (HANGS, {"standstill_s": 1.0}, "no-progress"),
        (TRICKLES, {"wall_s": 1.0}, "clock-time"),
    ],
)
def test_each_limit_ends_the_process_and_says_which(
    tmp_path: Path, statements: str, limits: dict[str, float], exceeded: str
) -> None:
    report = anyio.run(lambda: watched(tmp_path, statements, **limits))
    assert (report.ending, report.exceeded, report.signal) == ("timed-out", exceeded, signal.SIGKILL)
    assert report.allowed_s == next(iter(limits.values()))
    if exceeded == "processor-time":
        assert report.cpu_ms is not None
        assert 300 <= report.cpu_ms < 3000


def test_waiting_costs_nothing_of_the_processor_time(tmp_path: Path) -> None:
    report = anyio.run(lambda: watched(tmp_path, WAITS, cpu_s=0.5))
    assert report.exit_code == 0
    assert report.exceeded == ""
    assert report.wall_ms >= 600


def test_whole_programs_may_take_longer_than_a_kernel() -> None:
    kernel = {"pallas_calls": [{}], "flops_outside": 0}
    assert compile_cpu_s(kernel) < compile_cpu_s({**kernel, "flops_outside": 10**9})
    assert compile_cpu_s({}) == compile_cpu_s({"pallas_calls": []}) >= 300
