# INPUTS f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    def step(i, carry):
        o_ref[i, 0] = jnp.sum(x_ref[pl.ds(i, 1), :])  # EXPECT scalar-store-to-vmem
        return carry

    lax.fori_loop(0, 64, step, 0)


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((64, 1), x.dtype))(x)
