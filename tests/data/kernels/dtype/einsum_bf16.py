# INPUTS bf16[128,256] bf16[256,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(a_ref, b_ref, o_ref):
    a = a_ref[...]
    b = b_ref[...]
    o_ref[...] = a @ b  # EXPECT matmul-accumulator-dtype


def workload(a, b):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16))(a, b)
