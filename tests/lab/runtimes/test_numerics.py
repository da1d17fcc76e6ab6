"""Interpretation and references through real children; the judging of what they return is tested elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import CompileRequest, InterpretCase, InterpretOptions, InterpretRequest, ReferenceRequest
from tests.lab.runtimes.kernels import GEMM

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime

pytestmark = pytest.mark.toolchain

HANGS = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x, out, semaphore):
    @pl.when(x[0, 0] > 0)
    def _():
        pl.semaphore_wait(semaphore) if hasattr(pl, 'semaphore_wait') else pltpu.semaphore_wait(semaphore)
    out[...] = x[...]


def workload(x):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.REGULAR],
    )(x)
"""


def case(seed: int, size: int = 128, **options: object) -> InterpretCase:
    rng = np.random.default_rng(seed)
    inputs = tuple(rng.standard_normal((size, size)).astype(ml_dtypes.bfloat16) for _ in range(2))
    return InterpretCase(inputs=inputs, options=InterpretOptions(**options))


def test_cases_come_back_in_order_and_right(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    cases = (case(1), case(2), case(3, size=256, detect_races=True))
    reply = portal.call(runtime.interpret, InterpretRequest(kernel=KernelSource(text=GEMM), cases=cases))
    assert reply.child.ending == "completed"
    assert reply.error is None
    assert len(reply.cases) == 3
    for asked, answer in zip(cases, reply.cases, strict=True):
        x, y = (array.astype(np.float64) for array in asked.inputs)
        (output,) = answer.outputs
        assert output.dtype == ml_dtypes.bfloat16
        np.testing.assert_allclose(output.astype(np.float64), x @ y, rtol=0.02, atol=0.1)
    assert reply.cases[0].exported is not None


def test_what_was_interpreted_compiles(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    reply = portal.call(runtime.interpret, InterpretRequest(kernel=KernelSource(text=GEMM), cases=(case(1),)))
    exported = reply.cases[0].exported
    assert exported is not None
    assert portal.call(runtime.compile, CompileRequest(exported=exported, target=Target.V6E, dumps=False)).ok


def test_a_hang_in_the_second_case_keeps_the_first(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    quiet = InterpretCase(inputs=(np.zeros((8, 128), np.float32),))
    hanging = InterpretCase(inputs=(np.ones((8, 128), np.float32),))
    request = InterpretRequest(
        kernel=KernelSource(text=HANGS), cases=(quiet, hanging, quiet), export=False, timeout_s=25
    )
    reply = portal.call(runtime.interpret, request)
    assert reply.cases
    assert reply.cases[0].error is None
    assert reply.child.ending == "timed-out" or reply.cases[1].error is not None


def test_a_file_that_does_not_load_is_the_replys_error(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    request = InterpretRequest(kernel=KernelSource(text="raise ValueError('no')"), cases=(case(1),))
    reply = portal.call(runtime.interpret, request)
    assert reply.child.ending == "raised"
    assert reply.error is not None
    assert (reply.error.type_name, reply.error.phase) == ("ValueError", "load")


def test_a_reference_draws_and_answers(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    text = "import jax.numpy as jnp\ndef workload(x, y):\n    return jnp.dot(x, y)\n"
    specs = (ArraySpec.parse("bf16[64,32]"), ArraySpec.parse("bf16[32,64]"))
    request = ReferenceRequest(source=KernelSource(text=text), seed=7, specs=specs)
    first, again = portal.call(runtime.reference, request), portal.call(runtime.reference, request)
    assert first.error is None
    assert first.child.ending == "completed"
    assert [array.tobytes() for array in first.inputs] == [array.tobytes() for array in again.inputs]
    x, y = (array.astype(np.float64) for array in first.inputs)
    np.testing.assert_allclose(first.oracle[0], x @ y, rtol=1e-12)
    assert first.outputs[0].dtype == ml_dtypes.bfloat16


def test_the_walls_are_known_without_a_candidate(portal: BlockingPortal, runtime: LocalRuntime) -> None:
    report = portal.call(runtime.sandbox)
    assert report.rlimits
    assert report.memory_watchdog
