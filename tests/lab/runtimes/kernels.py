"""Small kernels the runtime tests run."""

GEMM = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

PARAMS = {"block": 128}
SPACE = {"block": [128, 256]}


def body(x, y, out, acc):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc[...] = jnp.zeros_like(acc)

    acc[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        out[...] = acc[...].astype(out.dtype)


def workload(x, y, block=64):
    m, k = x.shape
    n = y.shape[1]
    return pl.pallas_call(
        body,
        grid=(m // block, n // block, k // block),
        in_specs=[
            pl.BlockSpec((block, block), lambda i, j, k: (i, k)),
            pl.BlockSpec((block, block), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((block, block), jnp.float32)],
        name="gemm",
    )(x, y)
"""

PLAIN = """
import jax.numpy as jnp


def workload(x):
    return jnp.tanh(x) * 2
"""


def plain_with(statements: str) -> str:
    """A valid kernel file that runs ``statements`` when it is loaded."""
    return PLAIN + "\n" + statements
