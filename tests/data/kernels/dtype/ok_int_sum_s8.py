# INPUTS s8[32,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=1, keepdims=True)


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((32, 1), jnp.int8))(x)
