# INPUTS s32[64] f32[1000,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(ids_ref, t_ref, o_ref):
    o_ref[...] = t_ref[...]


def workload(ids, t):
    return pl.pallas_call(
        body,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(64,),
            in_specs=[pl.BlockSpec((None, 1, 128), lambda i, ids: (ids[i], 0, 0))],
            out_specs=pl.BlockSpec((None, 1, 128), lambda i, ids: (i, 0, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct((64, 1, 128), t.dtype),
    )(ids, t.reshape(1000, 1, 128))
