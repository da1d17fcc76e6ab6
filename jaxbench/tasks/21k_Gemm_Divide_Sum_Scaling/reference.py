"""Linear layer without bias, divide, sum over the features, scale: SCALE * sum((x @ weight.T) / DIVISOR, axis 1)."""

import jax
import jax.numpy as jnp
import numpy as np

DIVISOR = 2.0
SCALE = 1.5


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 1/K), stored (out, in)."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = rng.standard_normal((M, K), dtype=np.float32)
    weight = rng.standard_normal((N, K), dtype=np.float32) / np.float32(np.sqrt(K))
    return x.astype(dtype), weight.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    key_x, key_weight = jax.random.split(jax.random.key(0), 2)
    x = jax.random.uniform(key_x, (M, K), dtype=dtype)
    weight = jax.random.normal(key_weight, (N, K), dtype=dtype)
    return np.asarray(x), np.asarray(weight)


def workload(x, weight):
    y = jnp.matmul(x, weight.T, precision=jax.lax.Precision.HIGHEST) / DIVISOR
    return jnp.sum(y, axis=1, keepdims=True) * SCALE
