# INPUTS f32[8,256]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...].reshape(8, 32, 8)


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 32, 8), x.dtype))(x)
