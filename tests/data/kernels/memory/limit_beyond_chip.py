# INPUTS f32[8192,8192]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    spec = pl.BlockSpec((4096, 4096), lambda i, j: (i, j))  # EXPECT vmem-oom
    return pl.pallas_call(
        body,
        grid=(2, 2),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=1 << 30),
    )(x)
