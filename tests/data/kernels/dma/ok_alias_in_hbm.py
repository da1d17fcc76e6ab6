# INPUTS f32[64,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_hbm, o_hbm, buf, sem):
    c = pltpu.make_async_copy(o_hbm.at[pl.ds(0, 8)], buf, sem)
    c.start()
    c.wait()
    buf[...] += 1.0
    d = pltpu.make_async_copy(buf, o_hbm.at[pl.ds(0, 8)], sem)
    d.start()
    d.wait()


def workload(x):
    a = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        body,
        in_specs=[a],
        out_specs=a,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        input_output_aliases={0: 0},
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)
