# INPUTS f16[64,128] f16[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]  # EXPECT float16-unsupported


def workload(x, y):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
