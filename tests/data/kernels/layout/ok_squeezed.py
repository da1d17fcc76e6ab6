# INPUTS bf16[4,8,128,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def workload(x):
    s = pl.BlockSpec((None, None, 128, 128), lambda b, h: (b, h, 0, 0))
    return pl.pallas_call(
        body,
        grid=(4, 8),
        in_specs=[s],
        out_specs=s,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(x)
