"""Convolution, mish, batch norm per channel by the statistics of this batch, with an affine."""

import jax
import jax.numpy as jnp
import numpy as np

EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1) growing along both spatial axes, so that statistics of part of a plane are wrong.

    conv_weight ~ N(0, 1/fan_in); conv_bias, bn_bias ~ 0.5 N; bn_weight ~ 1 + 0.4 N.
    """
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = _normal(rng, (B, Ci, H, W))
    x *= _ramp(H)[:, None] * _ramp(W)
    conv_weight = _normal(rng, (Co, Ci, 3, 3), 1.0 / np.sqrt(9 * Ci))
    conv_bias = _normal(rng, Co, 0.5)
    bn_weight = 1.0 + _normal(rng, Co, 0.4)
    bn_bias = _normal(rng, Co, 0.5)
    return tuple(array.astype(dtype) for array in (x, conv_weight, conv_bias, bn_weight, bn_bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    key_x, key_weight, key_bias = jax.random.split(jax.random.key(0), 3)
    x = jax.random.uniform(key_x, (B, Ci, H, W), dtype=dtype)
    conv_weight = jax.random.normal(key_weight, (Co, Ci, 3, 3), dtype=dtype)
    conv_bias = jax.random.normal(key_bias, (Co,), dtype=dtype)
    return np.asarray(x), np.asarray(conv_weight), np.asarray(conv_bias), np.ones(Co, dtype), np.zeros(Co, dtype)


def workload(x, conv_weight, conv_bias, bn_weight, bn_bias):
    y = _conv(x, conv_weight) + conv_bias[:, None, None]
    y = y * jnp.tanh(jax.nn.softplus(y))
    mean = jnp.mean(y, axis=(0, 2, 3), keepdims=True)
    variance = jnp.var(y, axis=(0, 2, 3), keepdims=True)
    normed = (y - mean) / jnp.sqrt(variance + EPSILON)
    return normed * bn_weight[:, None, None] + bn_bias[:, None, None]


def _conv(x, weight):
    layout = ("NCHW", "OIHW", "NCHW")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=layout)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)


def _ramp(size):
    return np.linspace(0.5, 1.5, size, dtype=np.float32)
