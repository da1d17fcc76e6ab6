# INPUTS f32[8,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def prefix(v):
    return jnp.cumprod(v, axis=1)  # EXPECT unimplemented-primitive


def body(x_ref, o_ref):
    o_ref[...] = prefix(x_ref[...])


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)
