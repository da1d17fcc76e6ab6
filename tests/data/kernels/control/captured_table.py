# INPUTS f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import numpy as np

TABLE = np.arange(8, dtype=np.float32)


def pick(i):
    return jnp.asarray(TABLE)[i]  # EXPECT captured-constant


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * pick(3)


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
