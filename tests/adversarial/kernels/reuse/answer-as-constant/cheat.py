import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
import numpy as np

A = np.random.default_rng(0).standard_normal((64, 128)).astype(np.float32)


def copy_body(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def copy(y):
    m, n = y.shape
    bm = min(256, m)
    rows = pl.BlockSpec((bm, n), lambda i: (i, 0))
    return pl.pallas_call(
        copy_body, grid=(pl.cdiv(m, bm),), in_specs=[rows], out_specs=rows,
        out_shape=jax.ShapeDtypeStruct((m, n), y.dtype),
    )(y)


def workload(x):
    table = jnp.resize(jnp.asarray(A), x.shape)
    return copy(table + 1.0), copy(table * table)
