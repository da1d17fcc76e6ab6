import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(a_ref, b_ref, o_ref, acc_ref, *, steps, k, bk):
    step = pl.program_id(2)

    @pl.when(step == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    a, b = a_ref[...], b_ref[...]
    if k % bk:
        left = k - step * bk
        a = jnp.where(jax.lax.broadcasted_iota(jnp.int32, a.shape, 1) < left, a, 0)
        b = jnp.where(jax.lax.broadcasted_iota(jnp.int32, b.shape, 0) < left, b, 0)
    acc_ref[...] += jnp.dot(a, b, preferred_element_type=jnp.float32)

    @pl.when(step == steps - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def kernel(a, b):
    (m, k), n = a.shape, b.shape[1]
    bm, bk, bn = min(256, m), min(256, k), min(256, n)
    steps = pl.cdiv(k, bk)
    return pl.pallas_call(
        functools.partial(body, steps=steps, k=k, bk=bk),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), steps),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, s: (i, s)), pl.BlockSpec((bk, bn), lambda i, j, s: (s, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, s: (i, j)),
        interpret=jax.default_backend() == "tpu",
        out_shape=jax.ShapeDtypeStruct((m, n), a.dtype),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(a, b)


def workload(a, b):
    return kernel(a, b)
