# INPUTS f32[8,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    total = jnp.sum(x_ref[...])
    if total > 0:  # EXPECT trace-error
        o_ref[...] = x_ref[...]
    else:
        o_ref[...] = -x_ref[...]


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
