# INPUTS f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref, part_ref):
    part_ref[0:32, :] = x_ref[0:32, :] * 2.0
    row = lax.broadcasted_iota(jnp.int32, (64, 128), 0)
    o_ref[...] = jnp.where(row < 32, part_ref[...], x_ref[...])


def workload(x):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((64, 128), jnp.float32)],
    )(x)
