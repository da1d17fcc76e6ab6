# INPUTS f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref, h_ref):
    h_ref[...] = x_ref[...].astype(jnp.float16)  # EXPECT float16-unsupported
    o_ref[...] = h_ref[...].astype(jnp.float32)


def workload(x):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((64, 128), jnp.float16)],
    )(x)
