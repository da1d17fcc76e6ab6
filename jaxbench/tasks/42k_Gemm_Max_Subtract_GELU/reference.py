"""Linear layer, subtract each row's maximum, tanh GELU: gelu(t - max(t, axis 1)) of t = x @ weight + bias."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """x grows over the rows, 0.1 to 1: distances to the maximum then cover the bend of the GELU.

    weight ~ N(0, 1/K); bias ~ 0.2 N.
    """
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = rng.standard_normal((M, K), dtype=np.float32)
    x *= np.linspace(0.1, 1.0, M, dtype=np.float32)[:, None]
    weight = rng.standard_normal((K, N), dtype=np.float32) / np.float32(np.sqrt(K))
    bias = 0.2 * rng.standard_normal(N, dtype=np.float32)
    return x.astype(dtype), weight.astype(dtype), bias.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws of the version whose operator this is.

    The ``original`` version computes something else (the maximum minus itself) from the same shapes, with zero weights.
    """
    M, K, N = dims["M"], dims["K"], dims["N"]
    key_x, key_weight, key_bias = jax.random.split(jax.random.key(0), 3)
    weight = jax.random.normal(key_weight, (K, N), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (N,), dtype=dtype) * 0.02
    if original:
        key_x = jax.random.key(0)
        weight, bias = jnp.zeros_like(weight), jnp.zeros_like(bias)
    x = jax.random.uniform(key_x, (M, K), dtype=dtype)
    return np.asarray(x), np.asarray(weight), np.asarray(bias)


def workload(x, weight, bias):
    y = jnp.matmul(x, weight) + bias
    return jax.nn.gelu(y - jnp.max(y, axis=1, keepdims=True), approximate=True)
