# INPUTS f32[300,256]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] - 1.0


def workload(x):
    spec = pl.BlockSpec((128, 256), lambda i: (i, 0))
    return pl.pallas_call(
        body,
        grid=(x.shape[0] // 128,),  # EXPECT empty-grid
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
