"""Linear layer, tanh GELU, softmax over the features."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 1/K): half the probabilities lie together at the GELU's floor; bias ~ 0.5 N.

    Wider logits would leave few probabilities that count, and lose them to bf16 rounding.
    """
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = rng.standard_normal((M, K), dtype=np.float32)
    weight = rng.standard_normal((K, N), dtype=np.float32) / np.float32(np.sqrt(K))
    bias = 0.5 * rng.standard_normal(N, dtype=np.float32)
    return x.astype(dtype), weight.astype(dtype), bias.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights and biases."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(42), 2)
    weight = jax.random.normal(key_weight, (K, N), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (N,), dtype=dtype) * 0.02
    if original:
        weight, bias = jnp.zeros_like(weight), jnp.zeros_like(bias)
    return np.asarray(x), np.asarray(weight), np.asarray(bias)


def workload(x, weight, bias):
    y = jax.nn.gelu(jnp.matmul(x, weight) + bias, approximate=True)
    return jax.nn.softmax(y, axis=1)
