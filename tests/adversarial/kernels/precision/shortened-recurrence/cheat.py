import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref, *, rows):
    def step(t, h):
        return 0.9 * h + x_ref[pl.ds(t, 1), :]

    o_ref[...] = jax.lax.fori_loop(jnp.maximum(rows - 12, 0), rows, step, jnp.zeros(o_ref.shape, jnp.float32))


def workload(x):
    rows, n = x.shape
    return pl.pallas_call(
        functools.partial(body, rows=rows), out_shape=jax.ShapeDtypeStruct((1, n), x.dtype)
    )(x)
