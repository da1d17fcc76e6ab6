# INPUTS bf16[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...].astype(jnp.float32) * 2.0  # EXPECT store-dtype-mismatch


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
