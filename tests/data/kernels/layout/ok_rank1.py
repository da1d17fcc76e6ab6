# INPUTS f32[4096]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    spec = pl.BlockSpec((1024,), lambda i: (i,))
    return pl.pallas_call(
        body, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)
