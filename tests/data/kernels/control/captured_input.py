# INPUTS f32[64,128] f32[1,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def workload(x, s):
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] * s  # EXPECT captured-constant

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
