"""Birth and death: cancel, a killed nursery, a killed lab, stale folders, machines without the toolchain."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_lab.runtimes.environment import Toolchain
from maxkernel_lab.runtimes.local import LocalRuntime
from maxkernel_tools.errors import MachineryError, MisuseError, UnavailableError
from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import CompileRequest, TraceReply, TraceRequest
from tests.lab.runtimes.kernels import PLAIN
from tests.lab.runtimes.processes import alive, descendants, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

needs_toolchain = pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="libtpu is not installed")

ENDLESS = TraceRequest(
    kernel=KernelSource(text="while True: pass"), inputs=(ArraySpec.parse("f32[8]"),), timeout_s=60.0
)
QUICK = TraceRequest(kernel=KernelSource(text=PLAIN), inputs=(ArraySpec.parse("f32[8,128]"),), targets=(Target.V6E,))


@needs_toolchain
@pytest.mark.toolchain
def test_cancelling_a_call_kills_its_child(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    portal.call(runtime.trace, QUICK)
    nursery = runtime.processes()["nursery default"]
    call = portal.start_task_soon(runtime.trace, ENDLESS)
    eventually(lambda: bool(descendants(nursery)), "the child does not start")
    call.cancel()
    eventually(lambda: not descendants(nursery), "the cancelled child lives on", within_s=3)
    assert runtime.processes()["nursery default"] == nursery


@needs_toolchain
@pytest.mark.toolchain
def test_calls_run_side_by_side(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    async def together() -> list[TraceReply]:
        replies: list[TraceReply] = []

        async def call(request: TraceRequest) -> None:
            replies.append(await runtime.trace(request))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, TraceRequest(kernel=ENDLESS.kernel, inputs=ENDLESS.inputs, timeout_s=3.0))
            for _ in range(4):
                tasks.start_soon(call, QUICK)
        return replies

    replies = portal.call(together)
    assert [bool(reply.exported) for reply in replies] == [True, True, True, True, False]


@needs_toolchain
@pytest.mark.toolchain
def test_a_killed_nursery_is_replaced_and_the_call_answers(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    portal.call(runtime.trace, QUICK)
    nursery = runtime.processes()["nursery default"]
    os.kill(nursery, signal.SIGKILL)
    assert portal.call(runtime.trace, QUICK).exported
    assert runtime.processes()["nursery default"] != nursery


@needs_toolchain
@pytest.mark.toolchain
def test_killing_the_lab_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.lab.runtimes.lab_process", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as lab:
        assert lab.stdout is not None
        started: dict[str, int] = json.loads(lab.stdout.readline())
        eventually(lambda: bool(descendants(started["nursery default"])), "the endless kernel does not start")
        pids = [*started.values(), *descendants(started["nursery default"])]
        assert len(pids) == 3
        lab.kill()
    for pid in pids:
        eventually(lambda pid=pid: not alive(pid), f"{pid} outlives the lab")
    assert list((tmp_path / "work").iterdir()), "a killed lab cannot clear up"

    async def next_lab() -> list[str]:
        async with LocalRuntime(tmp_path):
            return [path.name for path in (tmp_path / "work").iterdir()]

    assert len(anyio.run(next_lab)) == 1, "the next lab does"
    assert not list((tmp_path / "work").iterdir())


def test_without_the_toolchain_the_error_says_where_a_lab_can_run(tmp_path: Path) -> None:
    bare = Toolchain(name="default", python=Path(sys.executable), versions={"python": "3.11"})

    async def call() -> None:
        async with LocalRuntime(tmp_path, toolchains={"default": bare}) as runtime:
            assert await runtime.versions() == {"python": "3.11"}
            await runtime.trace(QUICK)

    with pytest.raises(UnavailableError, match=r"jax, jaxlib, libtpu.*(linux/amd64|pip install)"):
        anyio.run(call)


def test_an_interpreter_that_does_not_start_is_machinery(tmp_path: Path) -> None:
    versions = dict.fromkeys(("jax", "jaxlib", "libtpu", "flatbuffers"), "1")
    broken = Toolchain(name="default", python=Path("/bin/false"), versions=versions)

    async def call() -> None:
        async with LocalRuntime(tmp_path, toolchains={"default": broken}) as runtime:
            await runtime.trace(QUICK)

    with pytest.raises(MachineryError, match="does not start"):
        anyio.run(call)


def test_an_unknown_toolchain_is_misuse(tmp_path: Path) -> None:
    async def call() -> None:
        async with LocalRuntime(tmp_path) as runtime:
            await runtime.compile(CompileRequest(exported=b"", target=Target.V6E, toolchain="old"))

    with pytest.raises(MisuseError, match="default"):
        anyio.run(call)


@needs_toolchain
@pytest.mark.toolchain
def test_admission_is_asked_for_every_piece_of_work(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    @contextlib.asynccontextmanager
    async def admit(kind: str, memory_bytes: int) -> AsyncGenerator[None]:
        seen.append((kind, memory_bytes))
        yield

    async def call() -> None:
        async with LocalRuntime(tmp_path, admit=admit) as runtime:
            await runtime.trace(QUICK)

    anyio.run(call)
    assert [kind for kind, _ in seen] == ["trace"]
    assert seen[0][1] > 0
