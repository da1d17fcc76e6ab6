"""Transposed 3-d convolution (kernel 4, stride 2, padding 1), layer norm over the last axis, tanh GELU, scale.

The kernel is stored (in, out, 4, 4, 4) and applied as in the gradient of a convolution: flipped, over a dilated input.
"""

import jax
import jax.numpy as jnp
import numpy as np

STRIDE = 2
PADDING = 1
EPSILON = 1e-5
SCALE = 1.0


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1) growing along the normalised axis; conv_weight ~ N(0, 1/(8 Ci)): 8 of the 64 taps meet in an output.

    conv_bias ~ 0.5 N; ln_weight ~ 1 + 0.4 N; ln_bias ~ 0.5 N, both of the length of the normalised axis, 2 W.
    """
    B, Ci, Co, D, H, W = (dims[name] for name in ("B", "Ci", "Co", "D", "H", "W"))
    x = _normal(rng, (B, Ci, D, H, W)) * np.linspace(0.5, 1.5, W, dtype=np.float32)
    conv_weight = _normal(rng, (Ci, Co, 4, 4, 4), 1.0 / np.sqrt(8 * Ci))
    conv_bias = _normal(rng, Co, 0.5)
    ln_weight = 1.0 + _normal(rng, 2 * W, 0.4)
    ln_bias = _normal(rng, 2 * W, 0.5)
    return tuple(array.astype(dtype) for array in (x, conv_weight, conv_bias, ln_weight, ln_bias))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    B, Ci, Co, D, H, W = (dims[name] for name in ("B", "Ci", "Co", "D", "H", "W"))
    key_x, key_weight = jax.random.split(jax.random.key(0), 2)
    x = jax.random.uniform(key_x, (B, Ci, D, H, W), dtype=dtype)
    conv_weight = jax.random.normal(key_weight, (Ci, Co, 4, 4, 4), dtype=dtype)
    ln_weight, ln_bias = np.ones(2 * W, dtype), np.zeros(2 * W, dtype)
    return np.asarray(x), np.asarray(conv_weight), np.zeros(Co, dtype), ln_weight, ln_bias


def workload(x, conv_weight, conv_bias, ln_weight, ln_bias):
    y = _conv_transpose(x, conv_weight) + conv_bias[:, None, None, None]
    mean = jnp.mean(y, axis=-1, keepdims=True)
    variance = jnp.var(y, axis=-1, keepdims=True)
    normed = (y - mean) / jnp.sqrt(variance + EPSILON) * ln_weight + ln_bias
    return jax.nn.gelu(normed, approximate=True) * SCALE


def _conv_transpose(x, weight):
    edge = weight.shape[-1] - 1 - PADDING
    flipped = jnp.flip(weight, axis=(2, 3, 4)).swapaxes(0, 1)
    return jax.lax.conv_general_dilated(
        x,
        flipped,
        window_strides=(1, 1, 1),
        padding=((edge, edge),) * 3,
        lhs_dilation=(STRIDE,) * 3,
        dimension_numbers=("NCDHW", "OIDHW", "NCDHW"),
    )


def _normal(rng, shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
