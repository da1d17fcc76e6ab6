"""Linear layer, group norm per row with an affine, swish, multiply by a weight per feature, swish."""

import jax
import jax.numpy as jnp
import numpy as np

GROUP_SIZE = 32
EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); gemm_weight ~ N(0, 1/K), stored (out, in); gemm_bias, gn_bias ~ 0.5 N.

    gn_weight ~ 1 + 0.4 N; multiply_weight ~ 2 N, so that the second swish bends.
    """
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = _normal(rng, (M, K))
    gemm_weight = _normal(rng, (N, K), 1.0 / np.sqrt(K))
    gemm_bias = _normal(rng, N, 0.5)
    gn_weight = 1.0 + _normal(rng, N, 0.4)
    gn_bias = _normal(rng, N, 0.5)
    multiply_weight = _normal(rng, N, 2.0)
    return tuple(array.astype(dtype) for array in (x, gemm_weight, gemm_bias, gn_weight, gn_bias, multiply_weight))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights, multiply_weight too."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    key_weight, key_bias, key_multiply = jax.random.split(jax.random.key(42), 3)
    gemm_weight = jax.random.normal(key_weight, (N, K), dtype=dtype) * 0.02
    gemm_bias = jax.random.normal(key_bias, (N,), dtype=dtype) * 0.02
    multiply_weight = jax.random.normal(key_multiply, (N,), dtype=dtype)
    drawn = [gemm_weight, gemm_bias, multiply_weight]
    if original:
        drawn = [jnp.zeros_like(array) for array in drawn]
    gemm_weight, gemm_bias, multiply_weight = (np.asarray(array) for array in drawn)
    return np.asarray(x), gemm_weight, gemm_bias, np.ones(N, dtype), np.zeros(N, dtype), multiply_weight


def workload(x, gemm_weight, gemm_bias, gn_weight, gn_bias, multiply_weight):
    y = jnp.matmul(x, gemm_weight.T) + gemm_bias
    y = _group_norm(y) * gn_weight + gn_bias
    return _swish(_swish(y) * multiply_weight)


def _swish(y):
    return y * jax.nn.sigmoid(y)


def _group_norm(y):
    grouped = y.reshape(y.shape[0], -1, GROUP_SIZE)
    mean = jnp.mean(grouped, axis=2, keepdims=True)
    variance = jnp.var(grouped, axis=2, keepdims=True)
    return ((grouped - mean) / jnp.sqrt(variance + EPSILON)).reshape(y.shape)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
