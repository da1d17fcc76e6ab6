"""Linear layer without bias, swish, a bias after the activation, group norm per row with an affine."""

import jax
import jax.numpy as jnp
import numpy as np

GROUP_SIZE = 64
EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 1/K); bias, gn_bias ~ 0.5 N; gn_weight ~ 1 + 0.4 N."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = _normal(rng, (M, K))
    weight = _normal(rng, (K, N), 1.0 / np.sqrt(K))
    bias = _normal(rng, N, 0.5)
    gn_weight = 1.0 + _normal(rng, N, 0.4)
    gn_bias = _normal(rng, N, 0.5)
    return tuple(array.astype(dtype) for array in (x, weight, bias, gn_weight, gn_bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weight and bias."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(0xBADC0DE), 2)
    weight = jax.random.normal(key_weight, (K, N), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (N,), dtype=dtype) * 0.02
    if original:
        weight, bias = jnp.zeros_like(weight), jnp.zeros_like(bias)
    return np.asarray(x), np.asarray(weight), np.asarray(bias), np.ones(N, dtype), np.zeros(N, dtype)


def workload(x, weight, bias, gn_weight, gn_bias):
    y = jnp.matmul(x, weight)
    y = y * jax.nn.sigmoid(y) + bias
    return _group_norm(y) * gn_weight + gn_bias


def _group_norm(y):
    grouped = y.reshape(y.shape[0], -1, GROUP_SIZE)
    mean = jnp.mean(grouped, axis=2, keepdims=True)
    variance = jnp.var(grouped, axis=2, keepdims=True)
    return ((grouped - mean) / jnp.sqrt(variance + EPSILON)).reshape(y.shape)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
