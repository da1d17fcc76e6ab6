"""Linear layer, scale, double, clamp, logsumexp over the features, and l * mish(l) of the result l."""

import jax
import jax.numpy as jnp
import numpy as np

SCALE = 2.0
CLAMP_MIN = -10.0
CLAMP_MAX = 10.0


def create_inputs(rng, dims, dtype):
    """x grows over the rows, 0.1 to 1.5, and bias over the features, -2.75 to -1.75, so that a lost tail shows.

    Both clamps act, and the logsumexp l runs from below 1, where mish matters, to where the upper clamp decides.
    """
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = rng.standard_normal((M, K), dtype=np.float32)
    x *= np.linspace(0.1, 1.5, M, dtype=np.float32)[:, None]
    weight = rng.standard_normal((N, K), dtype=np.float32) / np.float32(np.sqrt(K))
    bias = 0.25 * rng.standard_normal(N, dtype=np.float32) + np.linspace(-2.75, -1.75, N, dtype=np.float32)
    return x.astype(dtype), weight.astype(dtype), bias.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights and biases."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(42), 2)
    weight = jax.random.normal(key_weight, (N, K), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (N,), dtype=dtype) * 0.02
    if original:
        weight, bias = jnp.zeros_like(weight), jnp.zeros_like(bias)
    return np.asarray(x), np.asarray(weight), np.asarray(bias)


def workload(x, weight, bias):
    y = (jnp.matmul(x, weight.T) + bias) * SCALE
    y = jnp.clip(y + y, CLAMP_MIN, CLAMP_MAX)
    peak = jnp.max(y, axis=1, keepdims=True)
    total = jnp.log(jnp.sum(jnp.exp(y - peak), axis=1, keepdims=True)) + peak
    mish = total * jnp.tanh(jax.nn.softplus(total))
    return total * mish
