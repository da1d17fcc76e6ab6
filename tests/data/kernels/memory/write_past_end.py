# INPUTS f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    def step(i, c):
        o_ref[pl.ds(i * 24, 24), :] = x_ref[pl.ds(0, 24), :]  # EXPECT out-of-bounds-write
        return c
    lax.fori_loop(0, 3, step, 0)


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
