# INPUTS f32[100,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    acc = jnp.zeros((1, 128), jnp.float32)
    for i in range(4):
        acc = acc + jnp.sum(x_ref[pl.ds(i * 32, 32), :], axis=0, keepdims=True)  # EXPECT out-of-bounds-read
    o_ref[...] = acc


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((1, 128), x.dtype))(x)
