"""Linear layer, batch norm by the statistics of this batch, tanh GELU, ReLU."""

import jax
import jax.numpy as jnp
import numpy as np

EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1), its scale and offset growing over the rows, so that statistics of part of the batch are wrong.

    gemm_weight ~ N(0, 1/K), stored (out, in); gemm_bias, bn_bias ~ 0.5 N; bn_weight ~ 1 + 0.4 N.
    """
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = _normal(rng, (M, K))
    x *= np.linspace(0.5, 1.5, M, dtype=np.float32)[:, None]
    x += np.linspace(-1.0, 1.0, M, dtype=np.float32)[:, None] * _normal(rng, K)
    gemm_weight = _normal(rng, (N, K), 1.0 / np.sqrt(K))
    gemm_bias = _normal(rng, N, 0.5)
    bn_weight = 1.0 + _normal(rng, N, 0.4)
    bn_bias = _normal(rng, N, 0.5)
    return tuple(array.astype(dtype) for array in (x, gemm_weight, gemm_bias, bn_weight, bn_bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    key_x, key_weight, key_bias = jax.random.split(jax.random.key(0), 3)
    x = jax.random.uniform(key_x, (M, K), dtype=dtype)
    gemm_weight = jax.random.normal(key_weight, (N, K), dtype=dtype)
    gemm_bias = jax.random.normal(key_bias, (N,), dtype=dtype)
    return np.asarray(x), np.asarray(gemm_weight), np.asarray(gemm_bias), np.ones(N, dtype), np.zeros(N, dtype)


def workload(x, gemm_weight, gemm_bias, bn_weight, bn_bias):
    y = jnp.matmul(x, gemm_weight.T) + gemm_bias
    mean = jnp.mean(y, axis=0)
    variance = jnp.var(y, axis=0)
    normed = (y - mean) / jnp.sqrt(variance + EPSILON) * bn_weight + bn_bias
    return jnp.maximum(jax.nn.gelu(normed, approximate=True), 0)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
