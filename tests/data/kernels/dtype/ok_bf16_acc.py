# INPUTS bf16[128,256] bf16[256,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(a_ref, b_ref, o_ref):
    acc = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)
    o_ref[...] = acc.astype(jnp.bfloat16)


def workload(a, b):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16))(a, b)
