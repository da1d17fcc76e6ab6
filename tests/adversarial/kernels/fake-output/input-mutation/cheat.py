import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, b_ref, o_ref, x_out_ref):
    x_out_ref[...] = jnp.zeros_like(x_out_ref)
    o_ref[...] = b_ref[...] + jnp.zeros_like(o_ref)


def workload(x, b):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    out, _ = pl.pallas_call(body, out_shape=(shape, shape), input_output_aliases={0: 1})(x, b)
    return out
