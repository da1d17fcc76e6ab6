"""``profile_kernel`` through the real runtime: real trace, real compiler, both sides through one model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_tools.context import CallContext, KernelCall, Workload
from maxkernel_tools.profiling import profile_kernel
from maxkernel_tools.records import ArraySpec, Artifact, FindingCode, KernelSource, Target
from maxkernel_tools.records.kernels import ParamValue
from maxkernel_tools.records.profiles import ProfileResult

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime

pytestmark = pytest.mark.toolchain

GEMM = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

PARAMS = {"BM": 256, "BN": 256, "BK": 512}
SPACE = {"BM": [128, 256, 512], "BN": [128, 256, 512], "BK": [256, 512, 1024]}


def kernel(x_ref, y_ref, o_ref, acc_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def workload(x, y, BM, BN, BK):
    m, k = x.shape
    n = y.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(m // BM, n // BN, k // BK),
        in_specs=[pl.BlockSpec((BM, BK), lambda i, j, k: (i, k)), pl.BlockSpec((BK, BN), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((BM, BN), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((BM, BN), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(x, y)
"""
REFERENCE = "import jax.numpy as jnp\n\n\ndef workload(x, y):\n    return jnp.matmul(x, y)\n"
SIZE = 1024


class Folder:
    """An artifact sink in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def put(self, name: str, kind: str, data: bytes | str | Path) -> Artifact:
        path = anyio.Path(self.root / name)
        content = await anyio.Path(data).read_bytes() if isinstance(data, Path) else data
        content = content.encode() if isinstance(content, str) else content
        await path.write_bytes(content)
        return Artifact(uri=f"maxkernel://runs/r-test/{name}", kind=kind, bytes=len(content))


async def silent(done: float, total: float | None, message: str) -> None:
    """Progress nobody watches."""


def call_of(text: str, params: dict[str, ParamValue] | None = None, size: int = SIZE) -> KernelCall:
    spec = ArraySpec.parse(f"bf16[{size},{size}]")
    workload = Workload(inputs=(spec, spec), label="gemm", reference=KernelSource(text=REFERENCE))
    return KernelCall(kernel=KernelSource(text=text), workload=workload, params=params or {})


@pytest.fixture
def profile(portal: BlockingPortal, runtime: LocalRuntime, tmp_path: Path):
    context = CallContext(runtime=runtime, artifacts=Folder(tmp_path), progress=silent, run_id="r-test")

    def run(text: str, params: dict[str, ParamValue] | None = None, target: Target = Target.V6E) -> ProfileResult:
        return portal.call(profile_kernel, call_of(text, params), target, "reference", context)

    return run


def test_both_sides_by_one_model(profile) -> None:
    result = profile(GEMM)
    assert result.ok
    assert result.time_source == "schedule-model"
    assert result.reference is not None
    assert result.reference.time_source == "schedule-model"
    assert result.speedup is not None
    assert result.speedup.value == pytest.approx(result.reference.time_us / result.time_us)
    assert "not measured" in result.summary
    # Exact from grid and index maps: each operand crosses HBM once per block of the other.
    traffic = {row.operand: row for row in result.traffic}
    assert traffic["in0"].hbm_bytes == SIZE * SIZE * 2 * (SIZE // 256)
    assert traffic["in0"].refetch_factor == SIZE // 256
    assert result.roofline_us is not None
    assert result.time_us is not None
    assert result.time_us >= result.roofline_us
    assert {artifact.kind for artifact in result.artifacts} >= {"optimized-hlo", "schedule"}
    assert result.vmem_bytes is not None
    assert 0 < result.vmem_bytes < (result.vmem_limit_bytes or 0)


def test_the_hottest_lines_are_those_that_do_the_work(profile) -> None:
    result = profile(GEMM, {"BM": 512, "BN": 512, "BK": 512})
    text = GEMM.splitlines()
    by_line = {part.line: part for part in result.lines}
    # All of the ops' time belongs to some line; what is left is the launch.
    assert sum(part.time_us for part in result.lines) == pytest.approx(sum(op.time_us for op in result.ops), rel=0.01)
    dot = next(part for line, part in by_line.items() if "jnp.dot" in text[line - 1])
    zeros = next(part for line, part in by_line.items() if "zeros_like" in text[line - 1])
    assert dot.bound_by == "mxu"
    assert dot.time_us > 5 * zeros.time_us
    # The rest is spent waiting for blocks, which no line of the kernel does: it is the call's.
    assert result.dma_wait_fraction is not None
    if result.dma_wait_fraction > 0.05:
        assert any("pallas_call" in text[line - 1] for line in by_line)
    assert result.reference is not None
    reference = REFERENCE.splitlines()
    assert [reference[part.line - 1].split()[0] for part in result.reference.lines if part.line] == ["return"]


def test_larger_blocks_are_faster_beyond_the_intervals(profile) -> None:
    small = profile(GEMM, {"BM": 128, "BN": 128, "BK": 128})
    large = profile(GEMM, {"BM": 512, "BN": 512, "BK": 512})
    assert large.interval_us[1] < small.interval_us[0]
    assert any(finding.code is FindingCode.PROFILE_ADVICE for finding in small.findings)


def test_a_kernel_that_does_not_compile_is_a_finding(profile) -> None:
    result = profile(GEMM, {"BM": 100, "BN": 100, "BK": 100})
    assert result.ok is False
    assert result.time_us is None
    assert result.findings
    assert result.state == "done"
