# INPUTS s32[8] f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(i_ref, x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x[i_ref[...], :]  # EXPECT gather-unsupported


def workload(i, x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(i, x)
