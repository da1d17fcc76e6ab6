# INPUTS s32[1] f32[64,1024]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(i_ref, x_hbm, o_ref, sem):
    start = pl.multiple_of(i_ref[0] * 128, 128)
    copy = pltpu.make_async_copy(x_hbm.at[:, pl.ds(start, 128)], o_ref, sem)
    copy.start()
    copy.wait()


def workload(i, x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(i, x)
