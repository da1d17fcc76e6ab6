# INPUTS s32[1] f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(n_ref, x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)

    def step(i, c):
        o_ref[pl.ds(i, 1), :] = x_ref[pl.ds(i, 1), :]
        return c

    lax.fori_loop(0, n_ref[0], step, 0)


def workload(n, x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(n, x)
