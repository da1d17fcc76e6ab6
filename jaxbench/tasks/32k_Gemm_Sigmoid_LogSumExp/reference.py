"""Two linear layers with a sigmoid between them, then the logsumexp over the features: one number per row."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """Weights wide enough that rows differ: w1 ~ N(0, 4/K), w2 ~ N(0, 9/H), both stored (out, in); x, b1 ~ N(0, 1).

    w2 grows over the features, so that a lost tail shows. b2 ~ 0.5 N - log(N) takes out the logsumexp's constant, where
    bf16 would be coarse.
    """
    M, K, H, N = dims["M"], dims["K"], dims["H"], dims["N"]
    x = _normal(rng, (M, K))
    w1 = _normal(rng, (H, K), 2.0 / np.sqrt(K))
    b1 = _normal(rng, H)
    w2 = _normal(rng, (N, H), 3.0 / np.sqrt(H)) * np.linspace(0.5, 1.5, N, dtype=np.float32)[:, None]
    b2 = _normal(rng, N, 0.5) - np.float32(np.log(N))
    return tuple(array.astype(dtype) for array in (x, w1, b1, w2, b2))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights and biases."""
    M, K, H, N = dims["M"], dims["K"], dims["H"], dims["N"]
    x = jax.random.uniform(jax.random.key(0), (M, K), dtype=dtype)
    keys = jax.random.split(jax.random.key(42), 4)
    shapes = ((H, K), (H,), (N, H), (N,))
    drawn = [jax.random.normal(key, shape, dtype=dtype) * 0.02 for key, shape in zip(keys, shapes, strict=True)]
    if original:
        drawn = [jnp.zeros_like(array) for array in drawn]
    return tuple(np.asarray(array) for array in (x, *drawn))


def workload(x, w1, b1, w2, b2):
    hidden = jax.nn.sigmoid(jnp.matmul(x, w1.T) + b1)
    y = jnp.matmul(hidden, w2.T) + b2
    peak = jnp.max(y, axis=1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(y - peak), axis=1)) + peak[:, 0]


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
