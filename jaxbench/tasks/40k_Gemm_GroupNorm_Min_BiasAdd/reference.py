"""Linear layer, group norm per row with an affine, minimum over the features, added to a bias along a new axis.

The output is an outer sum with features before rows: y[0, c, i, 0] = m[i] + bias[c], m[i] being the minimum of row i.
"""

import jax
import jax.numpy as jnp
import numpy as np

GROUP_SIZE = 16
EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """x, linear_bias ~ N(0, 1); weight ~ N(0, 1/K), stored (out, in); gn_weight ~ 1 + 0.4 N; gn_bias, bias ~ 0.5 N."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = _normal(rng, (M, K))
    weight = _normal(rng, (N, K), 1.0 / np.sqrt(K))
    linear_bias = _normal(rng, N)
    gn_weight = 1.0 + _normal(rng, N, 0.4)
    gn_bias = _normal(rng, N, 0.5)
    bias = _normal(rng, (1, N, 1, 1), 0.5)
    return tuple(array.astype(dtype) for array in (x, weight, linear_bias, gn_weight, gn_bias, bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weight, linear_bias and bias."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    keys = jax.random.split(jax.random.key(0xBADC0DE), 3)
    shapes = ((N, K), (N,), (1, N, 1, 1))
    drawn = [jax.random.normal(key, shape, dtype=dtype) * 0.02 for key, shape in zip(keys, shapes, strict=True)]
    if original:
        drawn = [jnp.zeros_like(array) for array in drawn]
    weight, linear_bias, bias = (np.asarray(array) for array in drawn)
    return np.asarray(x), weight, linear_bias, np.ones(N, dtype), np.zeros(N, dtype), bias


def workload(x, weight, linear_bias, gn_weight, gn_bias, bias):
    y = jnp.matmul(x, weight.T) + linear_bias
    smallest = jnp.min(_group_norm(y) * gn_weight + gn_bias, axis=1)
    return smallest[None, None, :, None] + bias


def _group_norm(y):
    grouped = y.reshape(y.shape[0], -1, GROUP_SIZE)
    mean = jnp.mean(grouped, axis=2, keepdims=True)
    variance = jnp.var(grouped, axis=2, keepdims=True)
    return ((grouped - mean) / jnp.sqrt(variance + EPSILON)).reshape(y.shape)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
