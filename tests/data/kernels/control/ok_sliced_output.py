# INPUTS f32[300,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1.0


def workload(x):
    x = jnp.pad(x, ((0, 84), (0, 0)))
    y = pl.pallas_call(
        body,
        grid=(3,),
        in_specs=[pl.BlockSpec((128, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((128, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((512, 128), x.dtype),
    )(x)
    return y[:300]
