# INPUTS f32[64,256]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_hbm, o_ref, buf, sem):
    pltpu.async_copy(x_hbm.at[:, pl.ds(0, 100)], buf, sem).wait()  # EXPECT dma-slice-alignment
    o_ref[...] = buf[...]


def workload(x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((64, 100), x.dtype),
        scratch_shapes=[pltpu.VMEM((64, 100), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)
