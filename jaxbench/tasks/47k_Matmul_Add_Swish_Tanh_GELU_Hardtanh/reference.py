"""Linear layer, a second bias, swish, tanh, tanh GELU, hardtanh."""

import jax
import jax.numpy as jnp
import numpy as np

CLAMP_MIN = -1.0
CLAMP_MAX = 1.0


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 4/K), so that both arms of the swish are reached; bias, add_value ~ N."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = _normal(rng, (M, K))
    weight = _normal(rng, (K, N), 2.0 / np.sqrt(K))
    bias = _normal(rng, N)
    add_value = _normal(rng, N)
    return tuple(array.astype(dtype) for array in (x, weight, bias, add_value))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weight, bias and add_value."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    keys = jax.random.split(jax.random.key(0xBADC0DE), 3)
    shapes = ((K, N), (N,), (N,))
    drawn = [jax.random.normal(key, shape, dtype=dtype) * 0.02 for key, shape in zip(keys, shapes, strict=True)]
    if original:
        drawn = [jnp.zeros_like(array) for array in drawn]
    return tuple(np.asarray(array) for array in (x, *drawn))


def workload(x, weight, bias, add_value):
    y = jnp.matmul(x, weight) + bias + add_value
    y = jnp.tanh(y * jax.nn.sigmoid(y))
    return jnp.clip(jax.nn.gelu(y, approximate=True), CLAMP_MIN, CLAMP_MAX)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
