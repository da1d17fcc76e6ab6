# INPUTS f32[1000]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def rows(size):
    return pl.BlockSpec((size,), lambda i: (i,))  # EXPECT block-shape-tiling


def workload(x):
    return pl.pallas_call(
        body,
        grid=(10,),
        in_specs=[rows(100)],
        out_specs=rows(100),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
