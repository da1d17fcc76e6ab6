# INPUTS s32[64] s32[64]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, y_ref, o_ref):
    o_ref[...] = y_ref[...] + x_ref[...]  # EXPECT smem-vector-load


def workload(x, y):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct(y.shape, y.dtype),
    )(x, y)
