# INPUTS s32[128,128] s32[128,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(a_ref, b_ref, o_ref):
    o_ref[...] = jnp.dot(a_ref[...], b_ref[...])  # EXPECT matmul-operand-dtype


def workload(a, b):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.int32))(a, b)
