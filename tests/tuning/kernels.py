"""Kernels the autotuner is held to, with their spaces."""

from __future__ import annotations

from maxkernel_tools.records import ArraySpec
from tests.profiling.test_profile_kernel import GEMM

RMSNORM = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

PARAMS = {"ROWS": 8, "CHUNK": 512, "SEMANTICS": "parallel"}
SPACE = {
    "ROWS": [8, 16, 32, 64, 128, 256, 512, 1024],
    "CHUNK": [128, 512, 2048],
    "SEMANTICS": ["parallel", "arbitrary"],
}


def workload(x, scale, ROWS, CHUNK, SEMANTICS):
    m, n = x.shape

    def kernel(x_ref, scale_ref, o_ref):
        total = jnp.zeros((ROWS, 1), jnp.float32)
        for at in range(0, n, CHUNK):
            part = x_ref[:, at : at + CHUNK].astype(jnp.float32)
            total += jnp.sum(part * part, axis=1, keepdims=True)
        factor = jax.lax.rsqrt(total / n + 1e-5)
        for at in range(0, n, CHUNK):
            part = x_ref[:, at : at + CHUNK].astype(jnp.float32)
            o_ref[:, at : at + CHUNK] = (part * factor).astype(o_ref.dtype) * scale_ref[:, at : at + CHUNK]

    return pl.pallas_call(
        kernel,
        grid=(m // ROWS,),
        in_specs=[pl.BlockSpec((ROWS, n), lambda i: (i, 0)), pl.BlockSpec((1, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((ROWS, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=(SEMANTICS,)),
    )(x, scale)
"""

FLASH = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

PARAMS = {"BQ": 128, "BK": 128}
SPACE = {"BQ": [128, 256, 512, 1024], "BK": [128, 256, 512, 1024, 2048]}


def kernel(q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, acc_ref):
    step = pl.program_id(2)

    @pl.when(step == 0)
    def _():
        m_ref[...] = jnp.full_like(m_ref, -1e30)
        l_ref[...] = jnp.zeros_like(l_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

    s = jax.lax.dot_general(q_ref[0], k_ref[0], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
    m_old = m_ref[:, :1]
    m_new = jnp.maximum(m_old, jnp.max(s, axis=1, keepdims=True))
    p = jnp.exp(s - m_new)
    scale = jnp.exp(m_old - m_new)
    l_new = scale * l_ref[:, :1] + jnp.sum(p, axis=1, keepdims=True)
    m_ref[...] = jnp.broadcast_to(m_new, m_ref.shape)
    l_ref[...] = jnp.broadcast_to(l_new, l_ref.shape)
    acc_ref[...] = acc_ref[...] * scale + jnp.dot(p.astype(v_ref.dtype), v_ref[0], preferred_element_type=jnp.float32)

    @pl.when(step == pl.num_programs(2) - 1)
    def _():
        o_ref[0] = (acc_ref[...] / l_ref[:, :1]).astype(o_ref.dtype)


def workload(q, k, v, BQ, BK):
    h, s, d = q.shape
    return pl.pallas_call(
        kernel,
        grid=(h, s // BQ, s // BK),
        in_specs=[
            pl.BlockSpec((1, BQ, d), lambda h, i, j: (h, i, 0)),
            pl.BlockSpec((1, BK, d), lambda h, i, j: (h, j, 0)),
            pl.BlockSpec((1, BK, d), lambda h, i, j: (h, j, 0)),
        ],
        out_specs=pl.BlockSpec((1, BQ, d), lambda h, i, j: (h, i, 0)),
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        scratch_shapes=[
            pltpu.VMEM((BQ, 128), jnp.float32),
            pltpu.VMEM((BQ, 128), jnp.float32),
            pltpu.VMEM((BQ, d), jnp.float32),
        ],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(q, k, v)
"""


def _specs(*texts: str) -> tuple[ArraySpec, ...]:
    return tuple(ArraySpec.parse(text) for text in texts)


CASES = {
    "gemm": (GEMM, _specs("bf16[2048,2048]", "bf16[2048,2048]")),
    "rmsnorm": (RMSNORM, _specs("bf16[8192,2048]", "bf16[1,2048]")),
    "flash": (FLASH, _specs("bf16[8,2048,128]", "bf16[8,2048,128]", "bf16[8,2048,128]")),
}
"""Kernel text and inputs by name."""
