# INPUTS bf16[256,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[...] = x_ref[pl.ds(i * 8 + 3, 8), :]  # EXPECT dynamic-slice-alignment


def workload(x):
    return pl.pallas_call(
        body,
        grid=(4,),
        in_specs=[pl.BlockSpec((256, 128), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((32, 128), x.dtype),
    )(x)
