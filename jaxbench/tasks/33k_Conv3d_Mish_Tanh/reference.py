"""3-d convolution, mish, tanh: tanh(t * tanh(softplus(t))) of t = conv(x, weight) + bias."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weight ~ N(0, 4/fan_in), so that the outer tanh bends; bias ~ 0.5 N."""
    B, Ci, Co, D, H, W = (dims[name] for name in ("B", "Ci", "Co", "D", "H", "W"))
    x = rng.standard_normal((B, Ci, D, H, W), dtype=np.float32)
    weight = rng.standard_normal((Co, Ci, 3, 3, 3), dtype=np.float32) * np.float32(2.0 / np.sqrt(27 * Ci))
    bias = 0.5 * rng.standard_normal(Co, dtype=np.float32)
    return x.astype(dtype), weight.astype(dtype), bias.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; the ``original`` version of the suite has zero weights and biases."""
    B, Ci, Co, D, H, W = dims["B"], dims["Ci"], dims["Co"], dims["D"], dims["H"], dims["W"]
    x = jax.random.uniform(jax.random.key(0), (B, Ci, D, H, W), dtype=dtype)
    key_weight, key_bias = jax.random.split(jax.random.key(0xBADC0DE), 2)
    weight = jax.random.normal(key_weight, (Co, Ci, 3, 3, 3), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (Co,), dtype=dtype) * 0.02
    if original:
        weight, bias = jnp.zeros_like(weight), jnp.zeros_like(bias)
    return np.asarray(x), np.asarray(weight), np.asarray(bias)


def workload(x, weight, bias):
    y = _conv(x, weight) + bias[:, None, None, None]
    return jnp.tanh(y * jnp.tanh(jax.nn.softplus(y)))


def _conv(x, weight):
    layout = ("NCDHW", "OIDHW", "NCDHW")
    return jax.lax.conv_general_dilated(x, weight, (1, 1, 1), "VALID", dimension_numbers=layout)
