# INPUTS f32[256,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...]


def workload(x):
    return pl.pallas_call(
        body,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((64, 128), lambda k, i: (2 * k + i, 0))],
        out_specs=pl.BlockSpec((64, 128), lambda k, i: (i, 0)),  # EXPECT revisited-output-block
        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32),
    )(x)
