# INPUTS f32[8,128]
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref, send, recv):
    me = lax.axis_index("x")  # EXPECT needs-shard-map
    copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, recv, device_id=me + 1)
    copy.start()
    copy.wait()


def workload(x):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA],
    )(x)
