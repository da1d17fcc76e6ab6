"""Convolution, group norm with an affine, tanh, hard swish, the convolution added back, logsumexp over the channels."""

import jax
import jax.numpy as jnp
import numpy as np

NUM_GROUPS = 16
EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1) growing along both spatial axes, so that positions differ; conv_weight ~ N(0, 1/fan_in).

    conv_bias ~ 0.5 N - log(Co) takes out the logsumexp's constant, where bf16 would be coarse. gn_weight, gn_bias ~ N:
    with gains near 1 the tanh is saturated where a channel counts, and the affine hardly shows.
    """
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = _normal(rng, (B, Ci, H, W))
    x *= _ramp(H)[:, None] * _ramp(W)
    conv_weight = _normal(rng, (Co, Ci, 3, 3), 1.0 / np.sqrt(9 * Ci))
    conv_bias = _normal(rng, Co, 0.5) - np.float32(np.log(Co))
    gn_weight = _normal(rng, Co)
    gn_bias = _normal(rng, Co)
    return tuple(array.astype(dtype) for array in (x, conv_weight, conv_bias, gn_weight, gn_bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero conv_weight and conv_bias."""
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = jax.random.uniform(jax.random.key(0), (B, Ci, H, W), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(42), 2)
    conv_weight = jax.random.normal(key_weight, (Co, Ci, 3, 3), dtype=dtype) * 0.02
    conv_bias = jax.random.normal(key_bias, (Co,), dtype=dtype) * 0.02
    if original:
        conv_weight, conv_bias = jnp.zeros_like(conv_weight), jnp.zeros_like(conv_bias)
    return np.asarray(x), np.asarray(conv_weight), np.asarray(conv_bias), np.ones(Co, dtype), np.zeros(Co, dtype)


def workload(x, conv_weight, conv_bias, gn_weight, gn_bias):
    y = _conv(x, conv_weight) + conv_bias[:, None, None]
    squashed = jnp.tanh(_group_norm(y) * gn_weight[:, None, None] + gn_bias[:, None, None])
    y = y + squashed * jnp.clip(squashed + 3.0, 0.0, 6.0) / 6.0
    peak = jnp.max(y, axis=1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(y - peak), axis=1, keepdims=True)) + peak


def _group_norm(y):
    grouped = y.reshape(y.shape[0], NUM_GROUPS, -1)
    mean = jnp.mean(grouped, axis=2, keepdims=True)
    variance = jnp.var(grouped, axis=2, keepdims=True)
    return ((grouped - mean) / jnp.sqrt(variance + EPSILON)).reshape(y.shape)


def _conv(x, weight):
    layout = ("NCHW", "OIHW", "NCHW")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=layout)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)


def _ramp(size):
    return np.linspace(0.5, 1.5, size, dtype=np.float32)
