# INPUTS f32[512,128]
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref, acc_ref):
    first = pl.program_id(0) == 0
    before = jnp.where(first, 0.0, acc_ref[...])
    acc_ref[...] = before + x_ref[...]
    o_ref[...] = jnp.where(first, x_ref[...], o_ref[...] + x_ref[...])


def workload(x):
    return pl.pallas_call(
        body,
        grid=(4,),
        in_specs=[pl.BlockSpec((128, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((128, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)],
    )(x)
