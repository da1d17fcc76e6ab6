# INPUTS f32[64,300]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    x = x_ref[...]
    m = jnp.max(x, axis=1, keepdims=True)  # EXPECT partial-block-unmasked
    o_ref[...] = jnp.exp(x - m)


def workload(x):
    spec = pl.BlockSpec((8, 384), lambda i: (i, 0))
    return pl.pallas_call(body, grid=(8,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
