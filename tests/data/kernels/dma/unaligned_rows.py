# INPUTS bf16[256,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_hbm, o_ref, sem):
    copy = pltpu.make_async_copy(x_hbm.at[pl.ds(3, 16), :], o_ref, sem)  # EXPECT dma-slice-alignment
    copy.start()
    copy.wait()


def workload(x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(x)
