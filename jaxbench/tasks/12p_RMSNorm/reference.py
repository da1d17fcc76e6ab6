"""RMS normalisation over the last axis, with the two roundings of the model it comes from."""

import jax
import jax.numpy as jnp
import numpy as np

EPSILON = 1e-5


def create_inputs(rng, dims, dtype):
    """Rows whose scales span 1e-3 to 1e3 in random order, one row all zero; scale ~ 1 + 0.4 N."""
    B, S, D = dims["B"], dims["S"], dims["D"]
    x = rng.standard_normal((B * S, D), dtype=np.float32)
    row_scale = np.power(10.0, np.linspace(-3.0, 3.0, B * S)).astype(np.float32)
    x *= rng.permutation(row_scale)[:, None]
    x[rng.integers(B * S)] = 0.0
    scale = 1.0 + 0.4 * rng.standard_normal(D, dtype=np.float32)
    return x.reshape(B, S, D).astype(dtype), scale.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    key_x, key_scale = jax.random.split(jax.random.key(42), 2)
    x = jax.random.normal(key_x, (dims["B"], dims["S"], dims["D"]), dtype=dtype)
    scale = 1.0 + 0.1 * jax.random.normal(key_scale, (dims["D"],), dtype=dtype)
    return np.asarray(x), np.asarray(scale)


def workload(x, scale):
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    mean_square = jnp.mean(wide * wide, axis=-1, keepdims=True)
    normed = wide * jax.lax.rsqrt(mean_square + EPSILON)
    return normed.astype(x.dtype) * scale
