"""Linear layer, instance norm over one single position, add y, multiply by y.

The mean of one element is that element, so the norm gives 0 whatever x and the weights are; (in_bias + y) * y remains.
"""

import jax
import jax.numpy as jnp
import numpy as np

EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """x, y ~ N(0, 1); bmm_weight ~ N(0, 1/K), stored (out, in); biases ~ 0.5 N; in_weight ~ 1 + 0.4 N."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = _normal(rng, (M, K))
    y = _normal(rng, (M, N))
    bmm_weight = _normal(rng, (N, K), 1.0 / np.sqrt(K))
    bmm_bias = _normal(rng, N, 0.5)
    in_weight = 1.0 + _normal(rng, N, 0.4)
    in_bias = _normal(rng, N, 0.5)
    return tuple(array.astype(dtype) for array in (x, y, bmm_weight, bmm_bias, in_weight, in_bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero bmm_weight, bmm_bias and in_bias."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    key_x, key_y = jax.random.split(jax.random.key(0), 2)
    x = jax.random.uniform(key_x, (M, K), dtype=dtype)
    y = jax.random.uniform(key_y, (M, N), dtype=dtype)
    keys = jax.random.split(jax.random.key(42), 3)
    shapes = ((N, K), (N,), (N,))
    drawn = [jax.random.normal(key, shape, dtype=dtype) * 0.02 for key, shape in zip(keys, shapes, strict=True)]
    if original:
        drawn = [jnp.zeros_like(array) for array in drawn]
    bmm_weight, bmm_bias, in_bias = (np.asarray(array) for array in drawn)
    return np.asarray(x), np.asarray(y), bmm_weight, bmm_bias, np.ones(N, dtype), in_bias


def workload(x, y, bmm_weight, bmm_bias, in_weight, in_bias):
    t = jnp.matmul(x, bmm_weight.T) + bmm_bias
    t = t[:, :, None, None]
    mean = jnp.mean(t, axis=(2, 3), keepdims=True)
    variance = jnp.var(t, axis=(2, 3), keepdims=True)
    normed = ((t - mean) / jnp.sqrt(variance + EPSILON))[:, :, 0, 0]
    return (normed * in_weight + in_bias + y) * y


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
