# INPUTS s32[1] f32[8,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(n_ref, x_ref, o_ref):
    o_ref[...] = lax.fori_loop(0, n_ref[0], lambda i, acc: acc + x_ref[...], jnp.zeros((8, 128), jnp.float32))


def workload(n, x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(n, x)
