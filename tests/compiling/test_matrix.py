"""Five kernels over three lines of jax and libtpu in one call each: what differs is named, what agrees is silent.

The older lines are installed for the test, which skips where no package can be fetched.
"""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_lab.runtimes.local import LocalRuntime
from maxkernel_lab.toolchains.installing import add_toolchain
from maxkernel_tools.compiling import CompileOptions, compile_kernel
from maxkernel_tools.context import CallContext, KernelCall, Workload
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.findings import FindingCode
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from tests.diagnosing.kernel_files import Sink
from tests.lab.runtimes.kernels import GEMM

pytestmark = [pytest.mark.slow, pytest.mark.toolchain]

LINES = ("0.6.2", "0.9.2")
NAMES = ("default", *(f"jax-{line}" for line in LINES))
HEAD = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def workload(x):
    return pl.pallas_call(body, in_specs=[pl.BlockSpec(memory_space=SPACE)], out_shape=OUT)(x)


"""
SOFTMAX = """\
def body(x_ref, o_ref):
    powers = jnp.exp(x_ref[...] - x_ref[...].max(axis=-1, keepdims=True))
    o_ref[...] = powers / powers.sum(axis=-1, keepdims=True)
"""
COPY = """\
def body(x_ref, o_ref):
    def scoped(buffer, semaphore):
        copy = pltpu.make_async_copy(x_ref, buffer, semaphore)
        copy.start()
        copy.wait()
        o_ref[...] = buffer[...] + 1

    pl.run_scoped(scoped, pltpu.VMEM((64, 256), jnp.float32), pltpu.SemaphoreType.DMA)
"""
MASK = """\
def body(x_ref, o_ref):
    mask = (x_ref[0] > 0)[:, None]
    o_ref[...] = jnp.where(mask, 1.0, 0.0) + jnp.zeros_like(o_ref)
"""
ARGMAX = """\
def body(x_ref, o_ref):
    o_ref[...] = jnp.argmax(x_ref[...], axis=1, keepdims=True) + jnp.zeros_like(o_ref)
"""


def kernel(body: str, out: str = "x", space: str = "pltpu.VMEM") -> str:
    return (HEAD + body).replace("SPACE", space).replace("OUT", out)


@pytest.fixture(scope="module")
def lines(portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRuntime]:
    """A runtime whose home has both older lines."""
    home = tmp_path_factory.mktemp("lines")

    async def quiet(done: float, total: float | None, message: str) -> None:
        del done, total, message

    for line in LINES:
        try:
            anyio.run(add_toolchain, home, (f"jax=={line}",), quiet)
        except MachineryError as error:
            if not str(error).startswith("Installing"):
                raise
            pytest.skip(f"jax {line} cannot be installed here: {str(error)[:300]}")
    with portal.wrap_async_context_manager(LocalRuntime(home)) as running:
        yield running


def over_all(portal: BlockingPortal, runtime: LocalRuntime, text: str, *inputs: str) -> CompileResult:
    async def quiet(done: float, total: float | None, message: str) -> None:
        del done, total, message

    specs = tuple(ArraySpec.parse(spec) for spec in inputs)
    call = KernelCall(kernel=KernelSource(text=text), workload=Workload(inputs=specs, label="test"))
    context = CallContext(runtime=runtime, artifacts=Sink(), progress=quiet, run_id="r-test")
    options = CompileOptions(dumps=False, toolchains=NAMES)
    return portal.call(compile_kernel, call, (Target.V6E,), context, options)


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (GEMM, ("bf16[256,256]", "bf16[256,256]")),
        (kernel(SOFTMAX), ("f32[64,512]",)),
        (kernel(COPY, space="pl.ANY"), ("f32[64,256]",)),
    ],
    ids=["gemm", "softmax", "copy"],
)
def test_what_every_line_compiles(lines, portal, text: str, inputs: tuple[str, ...]) -> None:
    result = over_all(portal, lines, text, *inputs)
    assert result.ok
    assert [report.toolchain_name for report in result.targets] == list(NAMES)
    assert len({report.toolchain for report in result.targets}) == 3
    assert not [words for words in result.differences if "compiles with" in words]


@pytest.mark.parametrize(
    ("text", "lines_of", "code"),
    [
        (kernel(MASK, "jax.ShapeDtypeStruct((128, 128), x.dtype)"), ("0.6.2", "0.9.2"), FindingCode.COMPILER_CRASH),
        (
            kernel(ARGMAX, "jax.ShapeDtypeStruct(x.shape, jnp.int32)"),
            ("0.9.2", "0.6.2"),
            FindingCode.UNIMPLEMENTED_PRIMITIVE,
        ),
    ],
    ids=["mask", "argmax"],
)
def test_what_one_line_refuses_is_named_with_its_reason(
    lines, portal, text: str, lines_of: tuple[str, str], code: FindingCode
) -> None:
    good, bad = lines_of
    result = over_all(portal, lines, text, "f32[8,128]")
    by_name = {report.toolchain_name: report for report in result.targets}
    assert not result.ok
    assert by_name[f"jax-{good}"].ok
    assert not by_name[f"jax-{bad}"].ok
    first = result.differences[0]
    assert first.startswith("v6e: compiles with")
    assert f"jax-{good} (jax {good}, libtpu " in first.partition(", not with ")[0]
    assert f"jax-{bad}" in first.partition(", not with ")[2]
    assert code.value in first
    refused = [finding for finding in result.findings if finding.toolchain == f"jax-{bad}"]
    assert code in {finding.code for finding in refused}
