# INPUTS s32[1048576] f32[8,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(table_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * table_ref[7].astype(jnp.float32)


def workload(table, x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],  # EXPECT smem-oom
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(table, x)
