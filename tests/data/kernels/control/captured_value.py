# INPUTS f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def workload(x):
    scale = jnp.linspace(0.5, 1.5, 128)

    def body(x_ref, o_ref):
        y = x_ref[...]
        o_ref[...] = y * scale  # EXPECT captured-constant

    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
