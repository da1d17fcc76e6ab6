"""Linear layer, scale, hardtanh, tanh GELU: gelu(clip((x @ weight + bias) * SCALE, CLAMP_MIN, CLAMP_MAX))."""

import jax
import jax.numpy as jnp
import numpy as np

SCALE = 0.5
CLAMP_MIN = -2.0
CLAMP_MAX = 2.0


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 16/K), so that the clamp acts on three outputs in ten; bias ~ N."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = rng.standard_normal((M, K), dtype=np.float32)
    weight = rng.standard_normal((K, N), dtype=np.float32) * np.float32(4.0 / np.sqrt(K))
    bias = rng.standard_normal(N, dtype=np.float32)
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
    y = (jnp.matmul(x, weight) + bias) * SCALE
    return jax.nn.gelu(jnp.clip(y, CLAMP_MIN, CLAMP_MAX), approximate=True)
