"""No false alarm on kernels that jax itself ships: attention, grouped matmul, paged reads, emitted pipelines."""

from __future__ import annotations

import json

import pytest

from maxkernel_tools.diagnosing import silent_findings
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.findings import Severity
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.runtime import TraceRequest

OPS = "jax.experimental.pallas.ops.tpu"
KERNELS = {
    "flash": (
        (
            f"from {OPS}.flash_attention import flash_attention\n\n\n"
            "def workload(q, k, v):\n    return flash_attention(q, k, v, causal=True)\n"
        ),
        ["bf16[1,2,512,128]"] * 3,
    ),
    "matmul": (
        (
            f"from {OPS}.matmul import matmul\n\n\n"
            "def workload(x, y):\n    return matmul(x, y, block_shape=(512, 512), block_k=512)\n"
        ),
        ["bf16[1024,1024]"] * 2,
    ),
    "grouped matmul": (
        (
            f"import jax.numpy as jnp\nfrom {OPS}.megablox.gmm import gmm\n\n\n"
            "def workload(left, right, sizes):\n    return gmm(left, right, sizes, jnp.float32)\n"
        ),
        ["bf16[1024,512]", "bf16[8,512,256]", "s32[8]"],
    ),
    "paged attention": (
        (
            f"from {OPS}.paged_attention import paged_attention\n\n\n"
            "def workload(q, k, v, lengths, pages):\n"
            "    return paged_attention(q, k, v, lengths, pages, pages_per_compute_block=4)\n"
        ),
        ["bf16[4,8,128]", "bf16[2,64,16,128]", "bf16[2,64,16,128]", "s32[4]", "s32[4,16]"],
    ),
    "emitted pipeline": (
        """\
import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_hbm, o_hbm):
    def inner(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    block = pl.BlockSpec((64, 256), lambda i: (i, 0))
    pltpu.emit_pipeline(inner, grid=(8,), in_specs=[block], out_specs=[block])(x_hbm, o_hbm)


def workload(x):
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(body, in_specs=[anywhere], out_specs=anywhere, out_shape=out)(x)
""",
        ["f32[512,256]"],
    ),
}


@pytest.mark.toolchain
@pytest.mark.parametrize("name", KERNELS)
def test_only_notes(name, portal, runtime):
    text, inputs = KERNELS[name]
    kernel = KernelSource(text=text)
    reply = portal.call(
        runtime.trace, TraceRequest(kernel=kernel, inputs=tuple(ArraySpec.parse(spec) for spec in inputs))
    )
    assert not reply.errors
    assert reply.facts["pallas_calls"], reply.facts
    json.dumps(dict(reply.facts))
    loud = [finding for finding in silent_findings(kernel, reply.facts) if finding.severity is not Severity.NOTE]
    assert loud == []
