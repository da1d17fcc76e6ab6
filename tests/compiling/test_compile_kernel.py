"""``compile_kernel`` through the real compiler: report, artifacts, cache, refusal, several targets, failures."""

from __future__ import annotations

import tarfile
from io import BytesIO

import pytest

from maxkernel_tools.records.findings import FindingCode
from maxkernel_tools.records.targets import Target
from tests.diagnosing.kernel_files import Sink, compiled, serious

pytestmark = pytest.mark.toolchain

MATMUL = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(a_ref, b_ref, o_ref, acc_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def workload(a, b):
    (m, k), n, block = a.shape, b.shape[1], BLOCK
    return pl.pallas_call(
        body,
        grid=(m // block, n // block, k // block),
        in_specs=[
            pl.BlockSpec((block, block), lambda i, j, k: (i, k)),
            pl.BlockSpec((block, block), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), a.dtype),
        scratch_shapes=[pltpu.VMEM((block, block), jnp.float32)],
    )(a, b)
"""


def matmul(block: int) -> str:
    return MATMUL.replace("BLOCK", str(block))


SQUARE = ("bf16[512,512]", "bf16[512,512]")


def test_report_windows_memory_and_artifacts(portal, runtime):
    sink = Sink()
    result = compiled(portal, runtime, matmul(128), SQUARE, (Target.V6E,), dumps=True, sink=sink)
    report = result.targets[0]
    assert result.ok
    assert result.outputs == ("bf16[512,512]",)
    assert report.flops >= 2 * 512**3
    assert report.vmem_limit_bytes == 32 << 20
    assert report.vmem_physical_bytes == 128 << 20
    assert report.hbm_argument_bytes == 2 * 512 * 512 * 2
    call = report.pallas_calls[0]
    assert call.grid == (4, 4, 4)
    sizes = {window.operand: (window.vmem_bytes, window.fetches, window.hbm_bytes) for window in call.windows}
    block = 128 * 128 * 2
    assert sizes["in0"] == (2 * block, 64, 64 * block)
    assert sizes["out0"] == (2 * block, 16, 16 * block)
    assert sizes["scratch0"][0] == 2 * block
    # The compiler's own map holds the windows, and scratch or temporaries on top of them.
    assert report.vmem_bytes >= 6 * block
    assert report.vmem_scratch_bytes == 2 * block
    assert report.vmem_spill_bytes is not None
    assert b"input window allocation" in sink.kept["vmem-map-v6e.tsv"]
    assert report.hbm_bytes == (64 + 64 + 16) * block
    assert report.estimated_us > 0
    assert report.estimate_source == "schedule-model"
    assert "jax" in report.toolchain
    names = (
        "exported-v6e.bin",
        "optimized-hlo-v6e.txt",
        "schedule-v6e.tar",
        "final-schedule-v6e.txt",
        "unit-use-v6e.txt",
    )
    assert set(names) <= set(sink.kept)
    assert b"mosaic-passes" not in b"".join(name.encode() for name in sink.kept)
    assert b"LB:" in sink.kept["final-schedule-v6e.txt"]
    assert b"MXU" in sink.kept["unit-use-v6e.txt"]
    with tarfile.open(fileobj=BytesIO(sink.kept["schedule-v6e.tar"])) as archive:
        assert any("final_bundles" in name for name in archive.getnames())


def test_the_same_kernel_again_is_a_cache_hit(portal, runtime):
    first = compiled(portal, runtime, matmul(256), SQUARE, (Target.V6E,)).targets[0]
    again = compiled(portal, runtime, matmul(256), SQUARE, (Target.V6E,)).targets[0]
    assert first.ok
    assert again.ok
    assert again.cached


def test_all_targets_in_one_call(portal, runtime):
    targets = tuple(Target)
    result = compiled(portal, runtime, matmul(128), SQUARE, targets)
    assert [report.target for report in result.targets] == list(targets)
    assert result.ok
    assert all(serious(report) == set() for report in result.targets)


def test_a_hopeless_kernel_is_refused_without_the_compiler(portal, runtime):
    text = matmul(4096)
    inputs = ("bf16[8192,8192]", "bf16[8192,8192]")
    report = compiled(portal, runtime, text, inputs, (Target.V5E,)).targets[0]
    assert not report.ok
    assert report.compile_ms == 0
    finding = report.findings[0]
    assert finding.code is FindingCode.VMEM_OOM
    assert "BlockSpec" in finding.source_line


def test_findings_alike_on_every_target_come_once(portal, runtime):
    text = matmul(128).replace(".astype(o_ref.dtype)", "")
    result = compiled(portal, runtime, text, SQUARE, (Target.V5E, Target.V6E))
    errors = [finding for finding in result.findings if finding.severity == "error"]
    assert [(finding.code, finding.target) for finding in errors] == [(FindingCode.STORE_DTYPE_MISMATCH, None)]
    assert all(report.findings for report in result.targets)
    assert "store-dtype-mismatch at line" in result.summary


def test_a_kernel_that_ends_its_process_is_a_finding_and_the_next_call_works(portal, runtime):
    text = "import os\n\n\ndef workload(x):\n    os._exit(3)\n"
    result = compiled(portal, runtime, text, ("f32[8,128]",), (Target.V6E,))
    assert not result.ok
    assert result.findings[0].code is FindingCode.PROCESS_EXITED
    assert compiled(portal, runtime, matmul(128), SQUARE, (Target.V6E,)).ok


def test_words_of_the_compiler_are_kept_whole(portal, runtime):
    text = MATMUL.replace("BLOCK", "128").replace("bf16", "f16")
    sink = Sink()
    inputs = ("f16[512,512]", "f16[512,512]")
    result = compiled(portal, runtime, text, inputs, (Target.V6E,), sink=sink)
    assert result.findings[0].code is FindingCode.FLOAT16_UNSUPPORTED
    assert b"Mosaic failed" in sink.kept["compiler-message-v6e.txt"]
