# INPUTS f32[256,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref, n_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        n_ref[0] = 0

    n_ref[0] = n_ref[0] + 1
    o_ref[...] = x_ref[...] * n_ref[0].astype(jnp.float32)


def workload(x):
    s = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        body,
        grid=(4,),
        in_specs=[s],
        out_specs=s,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SMEM((1,), jnp.int32)],
    )(x)
