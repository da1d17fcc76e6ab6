"""Causal multi-head attention with an additive S x S bias per head."""

import jax
import jax.numpy as jnp
import numpy as np

MASK_VALUE = -1e30


def create_inputs(rng, dims, dtype):
    """q, k, v and the bias ~ N(0, 1): products and bias weigh the same in the scores."""
    B, H, S, D = dims["B"], dims["H"], dims["S"], dims["D"]
    q, k, v = (rng.standard_normal((B, H, S, D), dtype=np.float32) for _ in range(3))
    bias = rng.standard_normal((H, S, S), dtype=np.float32)
    return q.astype(dtype), k.astype(dtype), v.astype(dtype), bias.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    B, H, S, D = dims["B"], dims["H"], dims["S"], dims["D"]
    key_q, key_k, key_v, key_bias = jax.random.split(jax.random.key(42), 4)
    q = jax.random.normal(key_q, (B, H, S, D), dtype=dtype)
    k = jax.random.normal(key_k, (B, H, S, D), dtype=dtype) * 0.02
    v = jax.random.normal(key_v, (B, H, S, D), dtype=dtype) * 0.02
    bias = jax.random.normal(key_bias, (H, S, S), dtype=dtype) * 0.01
    return np.asarray(q), np.asarray(k), np.asarray(v), np.asarray(bias)


def workload(q, k, v, rel_pos_bias):
    length, depth = q.shape[-2:]
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * depth**-0.5 + rel_pos_bias
    causal = jnp.tril(jnp.ones((length, length), dtype=bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, MASK_VALUE), axis=-1)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)
