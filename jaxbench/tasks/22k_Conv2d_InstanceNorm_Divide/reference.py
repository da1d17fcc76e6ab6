"""Convolution, instance norm over each sample and channel with an affine, divide by a constant."""

import jax
import jax.numpy as jnp
import numpy as np

EPSILON = 1e-5
DIVISOR = 2.0


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1) growing along both spatial axes, so that statistics of part of a plane are wrong.

    weight ~ N(0, 1/fan_in); conv_bias ~ 0.5 N; in_weight ~ 1 + 0.4 N; in_bias ~ 0.5 N.
    """
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = _normal(rng, (B, Ci, H, W))
    x *= _ramp(H)[:, None] * _ramp(W)
    weight = _normal(rng, (Co, Ci, 3, 3), 1.0 / np.sqrt(9 * Ci))
    conv_bias = _normal(rng, Co, 0.5)
    in_weight = 1.0 + _normal(rng, Co, 0.4)
    in_bias = _normal(rng, Co, 0.5)
    return tuple(array.astype(dtype) for array in (x, weight, conv_bias, in_weight, in_bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weight and conv_bias."""
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = jax.random.uniform(jax.random.key(0), (B, Ci, H, W), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(0xBADC0DE), 2)
    weight = jax.random.normal(key_weight, (Co, Ci, 3, 3), dtype=dtype) * 0.02
    conv_bias = jax.random.normal(key_bias, (Co,), dtype=dtype) * 0.02
    if original:
        weight, conv_bias = jnp.zeros_like(weight), jnp.zeros_like(conv_bias)
    return np.asarray(x), np.asarray(weight), np.asarray(conv_bias), np.ones(Co, dtype), np.zeros(Co, dtype)


def workload(x, weight, conv_bias, in_weight, in_bias):
    y = _conv(x, weight) + conv_bias[:, None, None]
    mean = jnp.mean(y, axis=(2, 3), keepdims=True)
    variance = jnp.var(y, axis=(2, 3), keepdims=True)
    normed = (y - mean) / jnp.sqrt(variance + EPSILON)
    return (normed * in_weight[:, None, None] + in_bias[:, None, None]) / DIVISOR


def _conv(x, weight):
    layout = ("NCHW", "OIHW", "NCHW")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=layout)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)


def _ramp(size):
    return np.linspace(0.5, 1.5, size, dtype=np.float32)
