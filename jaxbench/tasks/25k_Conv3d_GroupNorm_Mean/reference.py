"""3-d convolution, group norm with an affine, and the mean over channels and positions: one number per sample."""

import jax
import jax.numpy as jnp
import numpy as np

NUM_GROUPS = 8
EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """gamma between 2 and 4 with a random sign: equal gammas let the mean cancel the norm and leave mean(beta) alone.

    x ~ N(0, 1), growing along the last two axes, plus an offset ~ 2 N per sample and channel, so that samples differ.
    weight ~ N(0, 1/fan_in); conv_bias ~ 0.5 N; beta ~ 1 + 0.5 N.
    """
    B, Ci, Co, D, H, W = (dims[name] for name in ("B", "Ci", "Co", "D", "H", "W"))
    x = _normal(rng, (B, Ci, D, H, W))
    x *= _ramp(H)[:, None] * _ramp(W)
    x += _normal(rng, (B, Ci, 1, 1, 1), 2.0)
    weight = _normal(rng, (Co, Ci, 3, 3, 3), 1.0 / np.sqrt(27 * Ci))
    conv_bias = _normal(rng, Co, 0.5)
    gamma = rng.choice(np.float32([-1.0, 1.0]), Co) * (2.0 + 2.0 * rng.random(Co, dtype=np.float32))
    beta = 1.0 + _normal(rng, Co, 0.5)
    return tuple(array.astype(dtype) for array in (x, weight, conv_bias, gamma, beta))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weight, conv_bias and beta."""
    B, Ci, Co, D, H, W = (dims[name] for name in ("B", "Ci", "Co", "D", "H", "W"))
    x = jax.random.uniform(jax.random.key(0), (B, Ci, D, H, W), dtype=dtype)
    keys = jax.random.split(jax.random.key(42), 3)
    shapes = ((Co, Ci, 3, 3, 3), (Co,), (Co,))
    drawn = [jax.random.normal(key, shape, dtype=dtype) * 0.02 for key, shape in zip(keys, shapes, strict=True)]
    if original:
        drawn = [jnp.zeros_like(array) for array in drawn]
    weight, conv_bias, beta = (np.asarray(array) for array in drawn)
    return np.asarray(x), weight, conv_bias, np.ones(Co, dtype), beta


def workload(x, weight, conv_bias, gamma, beta):
    y = _conv(x, weight) + conv_bias[:, None, None, None]
    normed = _group_norm(y)
    affine = normed * gamma[:, None, None, None] + beta[:, None, None, None]
    return jnp.mean(affine, axis=(1, 2, 3, 4))


def _group_norm(y):
    grouped = y.reshape(y.shape[0], NUM_GROUPS, -1)
    mean = jnp.mean(grouped, axis=2, keepdims=True)
    variance = jnp.var(grouped, axis=2, keepdims=True)
    return ((grouped - mean) / jnp.sqrt(variance + EPSILON)).reshape(y.shape)


def _conv(x, weight):
    layout = ("NCDHW", "OIDHW", "NCDHW")
    return jax.lax.conv_general_dilated(x, weight, (1, 1, 1), "VALID", dimension_numbers=layout)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)


def _ramp(size):
    return np.linspace(0.5, 1.5, size, dtype=np.float32)
