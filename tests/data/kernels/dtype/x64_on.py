# INPUTS s32[8,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

jax.config.update("jax_enable_x64", True)  # EXPECT x64-enabled


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] + jnp.arange(128)[None, :]  # EXPECT int64-unsupported


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.int64))(x)
