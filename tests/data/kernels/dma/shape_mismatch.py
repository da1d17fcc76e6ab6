# INPUTS f32[64,256]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_hbm, o_ref, buf, sem):
    copy = pltpu.make_async_copy(x_hbm, buf, sem)  # EXPECT dma-shape-mismatch
    copy.start()
    copy.wait()
    o_ref[...] = buf[...]


def workload(x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((32, 256), x.dtype),
        scratch_shapes=[pltpu.VMEM((32, 256), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)
