# INPUTS f32[4096,1024]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    spec = pl.BlockSpec((256, 1024), lambda i: (i, 0), pipeline_mode=pl.Buffered(0))  # EXPECT buffer-count
    return pl.pallas_call(
        body, grid=(16,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)
