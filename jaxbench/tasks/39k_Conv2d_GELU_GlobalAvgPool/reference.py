"""Convolution, tanh GELU, and the mean over all positions: one number per sample and channel."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1) growing along both spatial axes, so that no part of a plane stands for the whole.

    An offset per sample and channel is added, since the mean over many like positions is the same for every sample.
    weight ~ N(0, 1/fan_in); bias ~ 0.5 N.
    """
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = _normal(rng, (B, Ci, H, W))
    x *= _ramp(H)[:, None] * _ramp(W)
    x += _normal(rng, (B, Ci, 1, 1))
    weight = _normal(rng, (Co, Ci, 3, 3), 1.0 / np.sqrt(9 * Ci))
    bias = _normal(rng, Co, 0.5)
    return x.astype(dtype), weight.astype(dtype), bias.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights and biases."""
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = jax.random.uniform(jax.random.key(0), (B, Ci, H, W), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(0xBADC0DE), 2)
    weight = jax.random.normal(key_weight, (Co, Ci, 3, 3), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (Co,), dtype=dtype) * 0.02
    if original:
        weight, bias = jnp.zeros_like(weight), jnp.zeros_like(bias)
    return np.asarray(x), np.asarray(weight), np.asarray(bias)


def workload(x, weight, bias):
    y = _conv(x, weight) + bias[:, None, None]
    return jnp.mean(jax.nn.gelu(y, approximate=True), axis=(2, 3))


def _conv(x, weight):
    layout = ("NCHW", "OIHW", "NCHW")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=layout)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)


def _ramp(size):
    return np.linspace(0.5, 1.5, size, dtype=np.float32)
