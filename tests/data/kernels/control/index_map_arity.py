# INPUTS f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(x):
    spec = pl.BlockSpec((8, 128), lambda i, j: (i, j))  # EXPECT trace-error
    return pl.pallas_call(
        body, grid=(8,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)
