"""Convolution, ReLU, and a second bias after the ReLU: relu(conv(x, weight) + conv_bias) + bias."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 1/fan_in); both biases ~ 0.5 N, so that their order against the ReLU shows."""
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = _normal(rng, (B, Ci, H, W))
    weight = _normal(rng, (Co, Ci, 3, 3), 1.0 / np.sqrt(9 * Ci))
    conv_bias = _normal(rng, Co, 0.5)
    bias = _normal(rng, (Co, 1, 1), 0.5)
    return tuple(array.astype(dtype) for array in (x, weight, conv_bias, bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights and biases."""
    B, Ci, Co, H, W = dims["B"], dims["Ci"], dims["Co"], dims["H"], dims["W"]
    x = jax.random.uniform(jax.random.split(jax.random.key(0), 2)[0], (B, Ci, H, W), dtype=dtype)
    keys = jax.random.split(jax.random.key(0xBADC0DE), 3)
    shapes = ((Co, Ci, 3, 3), (Co,), (Co, 1, 1))
    drawn = [jax.random.normal(key, shape, dtype=dtype) * 0.02 for key, shape in zip(keys, shapes, strict=True)]
    if original:
        drawn = [jnp.zeros_like(array) for array in drawn]
    return tuple(np.asarray(array) for array in (x, *drawn))


def workload(x, weight, conv_bias, bias):
    y = _conv(x, weight) + conv_bias[:, None, None]
    return jnp.maximum(y, 0) + bias


def _conv(x, weight):
    layout = ("NCHW", "OIHW", "NCHW")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=layout)


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
