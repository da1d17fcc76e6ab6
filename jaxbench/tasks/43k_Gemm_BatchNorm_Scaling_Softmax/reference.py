"""Linear layer, batch norm by given running statistics, times a scalar, softmax over the features."""

import jax
import jax.numpy as jnp
import numpy as np

EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 1/K); bias, bn_bias, bn_mean ~ 0.5 N; bn_scale ~ 1 + 0.4 N; bn_var ~ 0.5 + U(0, 1).

    scale ~ 0.2 + 0.1 U(0, 1) holds the logits together: wider ones leave few probabilities that count.
    """
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = _normal(rng, (M, K))
    weight = _normal(rng, (K, N), 1.0 / np.sqrt(K))
    bias = _normal(rng, N, 0.5)
    bn_scale = 1.0 + _normal(rng, N, 0.4)
    bn_bias = _normal(rng, N, 0.5)
    bn_mean = _normal(rng, N, 0.5)
    bn_var = 0.5 + rng.random(N, dtype=np.float32)
    scale = 0.2 + 0.1 * rng.random(1, dtype=np.float32)
    return tuple(array.astype(dtype) for array in (x, weight, bias, bn_scale, bn_bias, bn_mean, bn_var, scale))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weight, bias and bn_bias."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    keys = jax.random.split(jax.random.key(42), 3)
    shapes = ((K, N), (N,), (N,))
    drawn = [jax.random.normal(key, shape, dtype=dtype) * 0.02 for key, shape in zip(keys, shapes, strict=True)]
    if original:
        drawn = [jnp.zeros_like(array) for array in drawn]
    weight, bias, bn_bias = (np.asarray(array) for array in drawn)
    ones, zeros = np.ones(N, dtype), np.zeros(N, dtype)
    return np.asarray(x), weight, bias, ones, bn_bias, zeros, ones.copy(), np.ones(1, dtype)


def workload(x, weight, bias, bn_scale, bn_bias, bn_mean, bn_var, scale):
    y = jnp.matmul(x, weight) + bias
    normed = (y - bn_mean) / jnp.sqrt(bn_var + EPSILON) * bn_scale + bn_bias
    return jax.nn.softmax(normed * scale, axis=1)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
