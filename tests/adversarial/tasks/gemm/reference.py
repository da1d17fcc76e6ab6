"""Matrix product, accumulated in f32."""

import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    a = rng.standard_normal((dims["M"], dims["K"]), dtype=np.float32)
    b = rng.standard_normal((dims["K"], dims["N"]), dtype=np.float32) / np.float32(np.sqrt(dims["K"]))
    return a.astype(dtype), b.astype(dtype)


def workload(a, b):
    return jnp.matmul(a, b)
