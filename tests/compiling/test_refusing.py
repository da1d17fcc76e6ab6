"""The early refusal: it spares the compiler hopeless kernels and never one that compiles; both sides of the limit."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from maxkernel_tools.compiling.refusing import certain_bytes, refuse
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.findings import FindingCode
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import CompileRequest, TraceRequest
from tests.diagnosing.kernel_files import compiled

pytestmark = pytest.mark.toolchain

COPY = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x, y, o, *scratch):
    BODY


def workload(x, y):
    rows = pl.BlockSpec((ROWS, 1024), lambda i: (i, 0))
    small = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        body,
        grid=(2,),
        in_specs=[rows, small],
        out_specs=OUT,
        out_shape=jax.ShapeDtypeStruct(OF.shape, x.dtype),
        scratch_shapes=[SCRATCH],
        name="copy",
    )(x, y)
"""


@dataclass(frozen=True)
class Case:
    """A kernel for v5e, whose default limit is 16 MiB, and whether it is hopeless."""

    rows: int
    hopeless: bool
    body: str = "o[...] = y[...]"
    whole: bool = False
    scratch: str = ""

    def text(self) -> str:
        out, of = ("rows", "x") if self.whole else ("small", "y")
        text = (
            COPY.replace("BODY", self.body).replace("ROWS", str(self.rows)).replace("OUT", out).replace("OF.", of + ".")
        )
        return text.replace("SCRATCH", self.scratch)

    def inputs(self) -> tuple[str, ...]:
        return (f"f32[{2 * self.rows},1024]", "f32[16,128]")


CASES = {
    "just below the limit": Case(rows=1016, hopeless=False, whole=True, body="o[...] = x[...]"),
    "beyond it": Case(rows=1056, hopeless=True, whole=True, body="o[...] = x[...]"),
    "beyond it in a window nobody reads": Case(rows=2112, hopeless=True),
    "scratch that is dropped, larger than the limit": Case(
        rows=8, hopeless=False, scratch="pltpu.VMEM((5120, 1024), jnp.float32)"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_compiler_agrees(case: Case, portal, runtime) -> None:
    kernel = KernelSource(text=case.text())
    inputs = tuple(ArraySpec.parse(spec) for spec in case.inputs())
    traced = portal.call(runtime.trace, TraceRequest(kernel=kernel, inputs=inputs, targets=(Target.V5E,)))
    refused = refuse(kernel, traced.facts, Target.V5E)
    reply = portal.call(runtime.compile, CompileRequest(traced.exported[Target.V5E], Target.V5E, dumps=False))
    assert (refused is not None) == case.hopeless
    assert reply.ok != case.hopeless, reply.error
    if refused is not None:
        assert refused.code is FindingCode.VMEM_OOM
        assert refused.line is not None
        assert certain_bytes(traced.facts["pallas_calls"][0]) > 16 << 20


def test_a_refused_kernel_costs_no_compile(portal, runtime) -> None:
    case = CASES["beyond it"]

    class NoCompiler:
        trace = runtime.trace

        async def compile(self, request: CompileRequest) -> None:
            raise AssertionError(request)

    report = compiled(portal, NoCompiler(), case.text(), case.inputs(), (Target.V5E,)).targets[0]
    assert not report.ok
    assert "compiler was not run" in report.findings[0].message
