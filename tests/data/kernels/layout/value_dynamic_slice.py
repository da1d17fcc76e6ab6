# INPUTS s32[1] f32[16,1024]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(i_ref, x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = lax.dynamic_slice(x, (0, i_ref[0]), (16, 128))  # EXPECT unimplemented-primitive


def workload(i, x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype),
    )(i, x)
