"""Linear layer, sum over the features, then max, mean and two logsumexps over the one number that is left.

All four act on an axis of size 1 and return what they are given.
"""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 1/K), stored (out, in); bias ~ 0.5 N, shifted to sum to one spread of the output."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = rng.standard_normal((M, K), dtype=np.float32)
    weight = rng.standard_normal((N, K), dtype=np.float32) / np.float32(np.sqrt(K))
    bias = 0.5 * rng.standard_normal(N, dtype=np.float32)
    bias += (np.float32(np.sqrt(N)) - bias.sum()) / N
    return x.astype(dtype), weight.astype(dtype), bias.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights and biases."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(0xBADC0DE), 2)
    weight = jax.random.normal(key_weight, (N, K), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (N,), dtype=dtype) * 0.02
    if original:
        weight, bias = jnp.zeros_like(weight), jnp.zeros_like(bias)
    return np.asarray(x), np.asarray(weight), np.asarray(bias)


def workload(x, weight, bias):
    y = jnp.matmul(x, weight.T) + bias
    total = jnp.sum(y, axis=1, keepdims=True)
    total = jnp.max(total, axis=1, keepdims=True)
    total = jnp.mean(total, axis=1, keepdims=True)
    return _logsumexp(_logsumexp(total))


def _logsumexp(y):
    peak = jnp.max(y, axis=1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(y - peak), axis=1, keepdims=True)) + peak
