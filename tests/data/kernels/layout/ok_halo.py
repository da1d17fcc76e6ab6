# INPUTS f32[72,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[0:16, :] + x_ref[8:24, :]


def workload(x):
    return pl.pallas_call(
        body,
        grid=(3,),
        in_specs=[pl.BlockSpec((pl.Element(24), pl.Element(128)), lambda i: (i * 16, 0))],
        out_specs=pl.BlockSpec((16, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((48, 128), x.dtype),
    )(x)
