"""Linear layer, mean over windows of features, tanh GELU, scale, maximum over the windows: one number per row."""

import jax
import jax.numpy as jnp
import numpy as np

POOL = 16
SCALE = 2.0


def create_inputs(rng, dims, dtype):
    """weight ~ N(0, 4/K); bias ~ N, growing by a half over the features; x growing over the rows, 0.25 to 1.25.

    Pooled values then reach the bend of the GELU, and a lost tail shows.
    """
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = rng.standard_normal((M, K), dtype=np.float32)
    x *= np.linspace(0.25, 1.25, M, dtype=np.float32)[:, None]
    weight = rng.standard_normal((K, N), dtype=np.float32) * np.float32(2.0 / np.sqrt(K))
    bias = rng.standard_normal(N, dtype=np.float32) + np.linspace(-0.25, 0.25, N, dtype=np.float32)
    return x.astype(dtype), weight.astype(dtype), bias.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights and biases."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(0xBADC0DE), 2)
    weight = jax.random.normal(key_weight, (K, N), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (N,), dtype=dtype) * 0.02
    if original:
        weight, bias = jnp.zeros_like(weight), jnp.zeros_like(bias)
    return np.asarray(x), np.asarray(weight), np.asarray(bias)


def workload(x, weight, bias):
    y = jnp.matmul(x, weight) + bias
    pooled = jnp.mean(y.reshape(y.shape[0], -1, POOL), axis=2)
    return jnp.max(jax.nn.gelu(pooled, approximate=True) * SCALE, axis=1)
