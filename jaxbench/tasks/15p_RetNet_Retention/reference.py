"""Multi-scale retention, parallel form: causal scores with a decay per head, rows divided by their absolute sum."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """q, k, v ~ N(0, 1), the keys of later positions up to four times larger, so that decay weighs against them."""
    shape = (dims["B"], dims["H"], dims["S"], dims["D"])
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
    k *= rng.permutation(np.geomspace(0.5, 2.0, dims["S"]).astype(np.float32))[:, None]
    return q.astype(dtype), k.astype(dtype), v.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    shape = (dims["B"], dims["H"], dims["S"], dims["D"])
    keys = jax.random.split(jax.random.key(42), 3)
    return tuple(np.asarray(jax.random.normal(key, shape, dtype=dtype)) for key in keys)


def workload(query, key, value):
    heads, length = query.shape[1:3]
    wide = jnp.promote_types(query.dtype, jnp.float32)
    gamma = 1.0 - 2.0 ** (-5.0 - jnp.arange(heads, dtype=wide))
    distance = jnp.arange(length)[:, None] - jnp.arange(length)
    # The distance is clamped before the power: above the diagonal gamma^(i - j) overflows, and inf * 0 is not 0.
    decay = jnp.exp(jnp.log(gamma)[:, None, None] * jnp.maximum(distance, 0).astype(wide))
    decay = jnp.where(distance >= 0, decay, 0.0)

    scores = jnp.einsum("bhqd,bhkd->bhqk", query.astype(wide), key.astype(wide)) * decay
    scores = scores / jnp.maximum(jnp.sum(jnp.abs(scores), axis=-1, keepdims=True), 1.0)
    return jnp.einsum("bhqk,bhkd->bhqd", scores.astype(query.dtype), value)
