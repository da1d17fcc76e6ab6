"""Paged grouped-query attention for one decode step: a query per sequence, keys and values gathered by page table."""

import jax
import jax.numpy as jnp
import numpy as np

MASK_VALUE = -1e30
GARBAGE = 1000.0


def create_inputs(rng, dims, dtype):
    """Unit-spread q, k, v; ragged lengths, 1 and the capacity among them; permuted pages; shared and unused queries.

    Cache positions past a sequence's length hold large finite garbage, so that reading them shows.
    """
    ns, pp, ps = dims["ns"], dims["pp"], dims["ps"]
    capacity = pp * ps
    kv_lens = rng.integers(1, capacity + 1, ns)
    kv_lens[:2] = (1, capacity)[:ns]
    kv_lens = rng.permutation(kv_lens)
    page_indices = rng.permutation(ns * pp).reshape(ns, pp)
    starts = np.sort(rng.integers(0, ns, ns))
    cu_q_lens = np.append(starts, ns)

    queries = rng.standard_normal((ns, dims["Hq"], dims["D"]), dtype=np.float32)
    k, v = (rng.standard_normal((ns * pp, ps, dims["Hkv"], dims["D"]), dtype=np.float32) for _ in range(2))
    position = np.arange(capacity).reshape(pp, ps)
    for s in range(ns):
        pages, offsets = np.nonzero(position >= kv_lens[s])
        k[page_indices[s, pages], offsets] = GARBAGE
        v[page_indices[s, pages], offsets] = GARBAGE
    floats = (array.astype(dtype) for array in (queries, k, v))
    return (*floats, *(array.astype(np.int32) for array in (kv_lens, page_indices, cu_q_lens)))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws: full caches, an identity page table, tiny k and v. Both versions of the suite agree."""
    ns, pp, ps = dims["ns"], dims["pp"], dims["ps"]
    keys = jax.random.split(jax.random.key(42), 5)
    queries = jax.random.normal(keys[0], (ns, dims["Hq"], dims["D"]), dtype=dtype)
    k, v = (jax.random.normal(key, (ns * pp, ps, dims["Hkv"], dims["D"]), dtype=dtype) * 0.02 for key in keys[1:3])
    kv_lens = np.full(ns, pp * ps, np.int32)
    page_indices = np.arange(ns * pp, dtype=np.int32).reshape(ns, pp)
    return (*(np.asarray(array) for array in (queries, k, v)), kv_lens, page_indices, np.arange(ns + 1, dtype=np.int32))


def workload(queries, k_pages, v_pages, kv_lens, page_indices, cu_q_lens):
    ns, pp = page_indices.shape
    _, ps, Hkv, D = k_pages.shape
    group = queries.shape[1] // Hkv
    q = queries[cu_q_lens[:ns]].reshape(ns, Hkv, group, D)
    k = k_pages[page_indices].reshape(ns, pp * ps, Hkv, D)
    v = v_pages[page_indices].reshape(ns, pp * ps, Hkv, D)

    scores = jnp.einsum("shgd,skhd->shgk", q, k) * D**-0.5
    valid = jnp.arange(pp * ps) < kv_lens[:, None]
    weights = jax.nn.softmax(jnp.where(valid[:, None, None, :], scores, MASK_VALUE), axis=-1)
    return jnp.einsum("shgk,skhd->shgd", weights, v).reshape(queries.shape)
