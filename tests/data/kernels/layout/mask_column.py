# INPUTS f32[128,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    keep = jnp.arange(128) >= 7
    both = keep.reshape(128, 1)  # EXPECT compiler-crash
    o_ref[...] = jnp.where(both, x_ref[...], -1.0)


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
