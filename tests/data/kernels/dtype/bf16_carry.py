# INPUTS bf16[512,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    def step(i, acc):
        return acc + x_ref[pl.ds(i * 16, 16), :]  # EXPECT low-precision-accumulation
    o_ref[...] = lax.fori_loop(0, 32, step, jnp.zeros((16, 128), jnp.bfloat16))


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype))(x)
