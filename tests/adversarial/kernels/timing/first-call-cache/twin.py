import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, b_ref, o_ref):
    o_ref[...] = x_ref[...] * 1.5 + b_ref[...]


BUILT = {}


def build(m, n, dtype):
    """Kernels are built once per shape; only code is kept, no values."""
    key = (m, n, str(dtype))
    if key not in BUILT:
        bm = min(256, m)
        rows = pl.BlockSpec((bm, n), lambda i: (i, 0))
        BUILT[key] = pl.pallas_call(
            body, grid=(pl.cdiv(m, bm),), in_specs=[rows, pl.BlockSpec((1, n), lambda i: (0, 0))], out_specs=rows,
            out_shape=jax.ShapeDtypeStruct((m, n), dtype),
        )
    return BUILT[key]


def workload(x, b):
    return build(*x.shape, x.dtype)(x, b)
