"""The compile service with the real compiler: answers, refusals, cache, death, cancel."""

from __future__ import annotations

import gzip
import os
import signal
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import CompileReply, CompileRequest, TraceRequest
from tests.lab.runtimes.kernels import GEMM
from tests.lab.runtimes.processes import alive, eventually

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime

pytestmark = pytest.mark.toolchain

SERVICE = "compiler default with dumps"


@pytest.fixture
def exported(portal: BlockingPortal, runtime: LocalRuntime):
    """Exported bytes of a GEMM that no other test compiles."""
    count = iter(range(1000))

    def call(target: Target = Target.V6E, size: int = 256, marker: str = "", block: int = 128) -> bytes:
        text = GEMM.replace('name="gemm"', f'name="gemm_{marker}{next(count)}"')
        inputs = (ArraySpec.parse(f"bf16[{size},{size}]"),) * 2
        request = TraceRequest(
            kernel=KernelSource(text=text), inputs=inputs, params={"block": block}, targets=(target,)
        )
        reply = portal.call(runtime.trace, request)
        return reply.exported[target]

    return call


@pytest.mark.parametrize("target", list(Target))
def test_every_target_compiles(portal: BlockingPortal, runtime: LocalRuntime, exported, target: Target) -> None:
    reply = portal.call(runtime.compile, CompileRequest(exported=exported(target, marker="t"), target=target))
    assert reply.ok
    assert reply.child.ending == "completed"
    assert "HloModule" in reply.hlo_text
    assert reply.memory["argument_size_in_bytes"] == 2 * 256 * 256 * 2
    assert reply.memory["output_size_in_bytes"] == 256 * 256 * 2
    assert {"jax", "jaxlib", "libtpu"} <= set(reply.versions)


def test_dumps_hold_the_final_schedule_and_nothing_of_the_stamps(
    portal: BlockingPortal, runtime: LocalRuntime, exported
) -> None:
    reply = portal.call(runtime.compile, CompileRequest(exported=exported(marker="d"), target=Target.V6E))
    assert reply.dump_dir is not None
    names = sorted(path.name for path in reply.dump_dir.iterdir())
    for ending in ("-final_bundles.txt.gz", "-post-ra.txt.gz", "-final_hlo-static-per-bundle-utilization.txt.gz"):
        assert any(name.startswith("gemm_d") and name.endswith(ending) for name in names), (ending, names)
    assert "TLP-hlo.txt.gz" in names
    assert not any(name[:10].isdigit() or "packed-bundles" in name for name in names)
    bundles = next(
        path
        for path in reply.dump_dir.iterdir()
        if path.name.endswith("-final_bundles.txt.gz") and "gemm" in path.name and "analysis" not in path.name
    )
    assert b"LB:" in gzip.decompress(bundles.read_bytes())


def test_the_second_answer_comes_from_the_cache(portal: BlockingPortal, runtime: LocalRuntime, exported) -> None:
    request = CompileRequest(exported=exported(marker="c"), target=Target.V6E)
    first, second = portal.call(runtime.compile, request), portal.call(runtime.compile, request)
    assert (first.cached, second.cached) == (False, True)
    assert (second.hlo_text, second.memory, second.cost, second.dump_dir) == (
        first.hlo_text,
        first.memory,
        first.cost,
        first.dump_dir,
    )


def test_without_dumps_there_are_none(portal: BlockingPortal, runtime: LocalRuntime, exported) -> None:
    data = exported(marker="n")
    with_dumps = portal.call(runtime.compile, CompileRequest(exported=data, target=Target.V6E))
    without = portal.call(runtime.compile, CompileRequest(exported=data, target=Target.V6E, dumps=False))
    assert without.ok
    assert not without.cached
    assert without.dump_dir is None
    assert with_dumps.dump_dir is not None


def test_the_compilers_refusal_is_a_reply_and_cached(portal: BlockingPortal, runtime: LocalRuntime, exported) -> None:
    data = exported(marker="v", size=1024, block=512)
    tiny = {"xla_tpu_scoped_vmem_limit_kib": "64"}
    for cached in (False, True):
        reply = portal.call(runtime.compile, CompileRequest(exported=data, target=Target.V6E, options=tiny))
        assert not reply.ok
        assert reply.cached is cached
        assert reply.child.ending == "completed"
        assert reply.error is not None
        assert reply.error.phase == "compile"
        assert "vmem" in reply.error.message.lower()
    assert portal.call(runtime.compile, CompileRequest(exported=data, target=Target.V6E)).ok, (
        "options are part of the key"
    )


def test_bytes_that_are_no_export_are_refused(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    reply = portal.call(runtime.compile, CompileRequest(exported=b"garbage" * 50, target=Target.V6E))
    assert not reply.ok
    assert reply.error is not None or reply.child.ending == "crashed"


def test_a_killed_service_is_replaced_and_the_call_answers(
    portal: BlockingPortal, runtime: LocalRuntime, exported
) -> None:
    portal.call(runtime.warm)
    data = exported(marker="k", size=1024, block=256)
    before = runtime.processes()[SERVICE]

    async def compile_and_kill() -> CompileReply:
        replies: list[CompileReply] = []

        async def call() -> None:
            replies.append(await runtime.compile(CompileRequest(exported=data, target=Target.V6E)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await anyio.lowlevel.checkpoint()
            os.kill(before, signal.SIGKILL)
        return replies[0]

    reply = portal.call(compile_and_kill)
    assert reply.ok
    assert reply.restarted
    assert runtime.processes()[SERVICE] != before


def test_a_compile_past_its_deadline_is_stopped(portal: BlockingPortal, runtime: LocalRuntime, exported) -> None:
    portal.call(runtime.warm)
    before = runtime.processes()[SERVICE]
    request = CompileRequest(exported=exported(marker="l", size=1024, block=256), target=Target.V6E, cpu_s=0.01)
    reply = portal.call(runtime.compile, request)
    assert not reply.ok
    assert (reply.child.ending, reply.child.exceeded) == ("timed-out", "processor-time")
    assert not alive(before)
    again = portal.call(runtime.compile, CompileRequest(exported=request.exported, target=Target.V6E))
    assert again.ok
    assert not again.cached


def test_a_cancelled_compile_stops_at_once_and_others_go_on(
    portal: BlockingPortal, runtime: LocalRuntime, exported
) -> None:
    portal.call(runtime.warm)
    data = exported(marker="x", size=1024, block=256)
    before = runtime.processes()[SERVICE]

    async def cancel() -> bool:
        with anyio.move_on_after(0.02) as scope:
            await runtime.compile(CompileRequest(exported=data, target=Target.V6E))
        return scope.cancelled_caught

    assert portal.call(cancel)
    eventually(lambda: not alive(before), "the cancelled service runs on")
    assert portal.call(runtime.compile, CompileRequest(exported=data, target=Target.V6E)).ok


def test_concurrent_calls_all_answer(portal: BlockingPortal, runtime: LocalRuntime, exported) -> None:
    data = [exported(marker=f"p{index}") for index in range(4)]

    async def together() -> list[CompileReply]:
        replies: list[CompileReply] = []

        async def call(one: bytes) -> None:
            replies.append(await runtime.compile(CompileRequest(exported=one, target=Target.V6E, dumps=False)))

        async with anyio.create_task_group() as tasks:
            for one in data:
                tasks.start_soon(call, one)
        return replies

    replies = portal.call(together)
    assert [reply.ok for reply in replies] == [True] * 4
    assert len({reply.hlo_text for reply in replies}) == 4
