# INPUTS s32[16] f32[16,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(s_ref, x_ref, o_ref):
    def step(i, carry):
        o_ref[pl.ds(i, 1), :] = x_ref[pl.ds(i, 1), :] * s_ref[i].astype(jnp.float32)
        return carry

    lax.fori_loop(0, 16, step, 0)


def workload(s, x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(s, x)
