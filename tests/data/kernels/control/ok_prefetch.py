# INPUTS s32[4] f32[512,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(table_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(table, x):
    return pl.pallas_call(
        body,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((128, 128), lambda i, table: (table[i], 0))],
            out_specs=pl.BlockSpec((128, 128), lambda i, table: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(table, x)
