# INPUTS f32[300,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    i = pl.program_id(0)

    @pl.when(i == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    row = lax.broadcasted_iota(jnp.int32, x_ref.shape, 0) + i * 128
    x = jnp.where(row < 300, x_ref[...], 0.0)
    o_ref[...] += jnp.sum(x, axis=0, keepdims=True)


def workload(x):
    return pl.pallas_call(
        body,
        grid=(pl.cdiv(x.shape[0], 128),),
        in_specs=[pl.BlockSpec((128, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((1, 128), jnp.float32),
    )(x)
