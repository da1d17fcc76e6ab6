"""Endurance: many mixed calls at once while worker processes are killed at random."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_lab.runtimes.local import LocalRuntime
from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import CompileRequest, TraceRequest
from tests.lab.runtimes.kernels import GEMM
from tests.lab.runtimes.processes import alive, descendants, eventually

pytestmark = [pytest.mark.slow, pytest.mark.toolchain]

CALLS = 200
SQUARE = (ArraySpec.parse("bf16[256,256]"),) * 2


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _one(runtime: LocalRuntime, index: int, wrong: list[str]) -> None:
    kind = index % 5
    text = GEMM.replace('name="gemm"', f'name="gemm_{index}"') if kind else "raise ValueError('planned')"
    reply = await runtime.trace(
        TraceRequest(kernel=KernelSource(text=text), inputs=SQUARE, targets=(Target.V6E,), timeout_s=60)
    )
    if kind == 0:
        if reply.errors[None].message != "planned":
            wrong.append(f"{index}: {reply.child} {reply.errors}")
        return
    options = {"xla_tpu_scoped_vmem_limit_kib": "16"} if kind == 1 else {}
    compiled = await runtime.compile(
        CompileRequest(exported=reply.exported[Target.V6E], target=Target.V6E, options=options, dumps=kind == 2)
    )
    right = compiled.error is not None if kind == 1 else compiled.ok and f"gemm_{index}" in compiled.hlo_text
    if not right:
        wrong.append(f"{index}: {compiled.child} {compiled.error} {compiled.crash_log[-300:]}")


async def _soak(home: Path) -> tuple[list[str], list[int]]:
    chance = random.Random(5)  # noqa: S311 - a repeatable order of events
    wrong: list[str] = []
    seen: set[int] = set()
    grown: list[int] = []
    async with LocalRuntime(home) as runtime:
        await runtime.warm()
        slots = anyio.Semaphore(4)

        async def call(index: int) -> None:
            async with slots:
                await _one(runtime, index, wrong)
                seen.update(runtime.processes().values())
                if chance.random() < 0.06:
                    victim = chance.choice(sorted(runtime.processes().values()))
                    os.kill(victim, signal.SIGKILL)

        for round_number in range(2):
            async with anyio.create_task_group() as tasks:
                for index in range(CALLS // 2):
                    tasks.start_soon(call, round_number * CALLS // 2 + index)
            grown.append(resident(os.getpid()))
        assert len(list((home / "work").glob("*/*"))) < 8, "job folders are left behind"
        pids = [pid for pid in seen if alive(pid)]
        assert len(pids) <= 3
        assert not descendants(runtime.processes()["nursery default"])
    for pid in seen:
        eventually(lambda pid=pid: not alive(pid), f"{pid} is left running")
    return wrong, grown


def test_every_call_is_answered_rightly_while_services_are_killed(portal: BlockingPortal, tmp_path: Path) -> None:
    wrong, (before, after) = portal.call(_soak, tmp_path)
    assert not wrong, wrong
    assert after - before < 64 << 20, "the lab's memory grows"
