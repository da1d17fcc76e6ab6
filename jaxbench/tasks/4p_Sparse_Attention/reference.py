"""Causal grouped-query attention with no scale inside: softmax(q k^T, keys up to the query) v."""

import jax
import jax.numpy as jnp
import numpy as np

MASK_VALUE = -1e30


def create_inputs(rng, dims, dtype):
    """q ~ N(0, 1/D), k and v ~ N(0, 1): scores of unit spread, so that no row is a plain mean of values."""
    B, S, D = dims["B"], dims["S"], dims["D"]
    q = rng.standard_normal((B, dims["Hq"], S, D), dtype=np.float32) / np.float32(np.sqrt(D))
    k, v = (rng.standard_normal((B, dims["Hkv"], S, D), dtype=np.float32) for _ in range(2))
    return q.astype(dtype), k.astype(dtype), v.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws (the original has no batch axis, the fixed version 4 sequences)."""
    B, S, D = dims["B"], dims["S"], dims["D"]
    key_q, key_k, key_v = jax.random.split(jax.random.key(42), 3)
    q = jax.random.normal(key_q, (B, dims["Hq"], S, D), dtype=dtype) * D**-0.5
    k = jax.random.normal(key_k, (B, dims["Hkv"], S, D), dtype=dtype) * 0.02
    v = jax.random.normal(key_v, (B, dims["Hkv"], S, D), dtype=dtype) * 0.02
    return np.asarray(q), np.asarray(k), np.asarray(v)


def workload(q, k, v):
    group = q.shape[1] // k.shape[1]
    length = q.shape[2]
    k, v = jnp.repeat(k, group, axis=1), jnp.repeat(v, group, axis=1)
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k)
    causal = jnp.tril(jnp.ones((length, length), dtype=bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, MASK_VALUE), axis=-1)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)
