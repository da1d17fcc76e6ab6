# INPUTS bf16[64,512]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = jnp.maximum(x_ref[...], 0.0)


def workload(x):
    spec = pl.BlockSpec((6, 512), lambda i: (i, 0))  # EXPECT block-shape-tiling
    return pl.pallas_call(body, grid=(11,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
