# INPUTS f32[96,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[...] = x_ref[pl.ds(pl.multiple_of(i * 64, 64), 64), :]  # EXPECT out-of-bounds-read


def workload(x):
    return pl.pallas_call(body, grid=(2,), in_specs=[pl.BlockSpec((96, 128), lambda i: (0, 0))], out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)), out_shape=jax.ShapeDtypeStruct((128, 128), x.dtype))(x)
