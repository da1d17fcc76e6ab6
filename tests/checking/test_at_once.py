from __future__ import annotations

from functools import partial

import anyio
import pytest

from maxkernel_tools.checking.at_once import AT_ONCE, all_of
from maxkernel_tools.checking.planning import trace_many
from maxkernel_tools.checking.shapes import Shape
from maxkernel_tools.context import CallContext
from maxkernel_tools.errors import MachineryError
from tests.adversarial.corpus import Sink
from tests.checking.support import text_call
from tests.lab.doubles import ScriptedRuntime

pytestmark = pytest.mark.anyio


async def test_answers_keep_their_order_and_few_run_at_once() -> None:
    running = most = 0
    turn = anyio.Event()

    async def step(index: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if index == 0:
            await turn.wait()  # the first one ends last
        elif index == 4:
            turn.set()
        running -= 1
        return index

    with anyio.fail_after(5):
        assert await all_of([partial(step, index) for index in range(5)]) == [0, 1, 2, 3, 4]
    assert most == AT_ONCE


async def test_the_first_failure_ends_the_others_and_comes_out_as_itself() -> None:
    ended: list[str] = []

    async def fail() -> None:
        raise MachineryError("the nursery is gone")

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    with anyio.fail_after(5), pytest.raises(MachineryError, match="the nursery is gone"):
        await all_of([wait, fail])
    assert ended == ["cancelled"]


async def test_a_failing_lab_is_not_wrapped_while_shapes_are_traced() -> None:
    runtime = ScriptedRuntime()
    runtime.error = MachineryError("no children any more")
    runtime.gate.set()

    async def ignore(*_: object) -> None:
        return None

    call = text_call("", "", ["f32[8,128]"])
    shape = Shape("given", call.workload.inputs, {})
    with anyio.fail_after(5), pytest.raises(MachineryError, match="no children"):
        await trace_many(call, [shape, shape, shape], CallContext(runtime, Sink(), ignore, "r-test"))
