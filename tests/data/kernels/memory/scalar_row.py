# INPUTS f32[8,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    for i in range(8):
        o_ref[i] = jnp.sum(x_ref[i, :])  # EXPECT scalar-store-to-vmem


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8,), x.dtype))(x)
