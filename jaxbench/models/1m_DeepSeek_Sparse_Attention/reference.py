"""Sparse attention over listed cache rows, all heads sharing one latent cache, with a sink logit per head."""

import jax
import jax.numpy as jnp
import numpy as np

ABSENT = -1


def create_inputs(rng, dims, dtype):
    """q and kv ~ N(0, 1); sinks ~ 2 + N; lists distinct, with absent entries strewn in.

    A fifth of the lists are full, a row has a single entry, and one has none.
    """
    B, T, N, H, D, topk = (dims[name] for name in ("B", "T", "N", "H", "D", "topk"))
    q = rng.standard_normal((B, T, H, D), dtype=np.float32)
    kv = rng.standard_normal((B, N, D), dtype=np.float32)
    sink = 2.0 + rng.standard_normal(H, dtype=np.float32)
    indices = np.argsort(rng.random((B * T, N)), axis=1)[:, :topk]
    present = np.where(rng.random(B * T) < 0.2, topk, rng.integers(0, topk + 1, B * T))
    present[rng.permutation(B * T)[:2]] = (0, 1)[: B * T]
    absent = rng.permuted(np.arange(topk) >= present[:, None], axis=1)
    indices = np.where(absent, ABSENT, indices).reshape(B, T, topk)
    return q.astype(dtype), kv.astype(dtype), sink.astype(np.float32), indices.astype(np.int32)


def create_classic_inputs(dims, dtype, original=False):
    """Unit normals, no sink to speak of, full lists of the latest rows: what a quick benchmark would draw."""
    B, T, N, H, D, topk = (dims[name] for name in ("B", "T", "N", "H", "D", "topk"))
    key_q, key_kv = jax.random.split(jax.random.key(0), 2)
    q = jax.random.normal(key_q, (B, T, H, D), dtype=dtype)
    kv = jax.random.normal(key_kv, (B, N, D), dtype=dtype)
    indices = np.broadcast_to(np.arange(N - topk, N, dtype=np.int32), (B, T, topk))
    return np.asarray(q), np.asarray(kv), np.zeros(H, np.float32), np.ascontiguousarray(indices)


def workload(q, kv, sink, topk_indices):
    wide = jnp.promote_types(q.dtype, jnp.float32)
    present = topk_indices != ABSENT
    rows = jax.vmap(lambda cache, index: cache[index])(kv, jnp.maximum(topk_indices, 0))

    scores = jnp.einsum("bthd,btkd->bthk", q, rows, preferred_element_type=wide) * q.shape[-1] ** -0.5
    scores = jnp.where(present[:, :, None, :], scores, -jnp.inf)
    sink = sink.astype(wide)[:, None]
    peak = jnp.maximum(jnp.max(scores, axis=-1, keepdims=True), sink)
    weights = jnp.exp(scores - peak)
    weights = weights / (jnp.sum(weights, axis=-1, keepdims=True) + jnp.exp(sink - peak))
    return jnp.einsum("bthk,btkd->bthd", weights.astype(kv.dtype), rows)
