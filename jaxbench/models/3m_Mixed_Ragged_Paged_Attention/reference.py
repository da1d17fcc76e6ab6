"""Ragged paged attention over head-major pages: packed query tokens of prefilling and decoding sequences."""

import jax
import jax.numpy as jnp
import numpy as np

ROWS_PER_STEP = 128
GARBAGE = 1000.0


def create_inputs(rng, dims, dtype):
    """Unit-spread q, k, v; one prefill from empty, one decode with a single key; permuted pages.

    Inactive slots claim the trailing rows and non-zero lengths, and cache past a sequence's length is large finite
    garbage.
    """
    mt, ms, pp, ps = dims["mt"], dims["ms"], dims["pp"], dims["ps"]
    capacity = pp * ps
    active = ms - rng.integers(1, ms // 2 + 1)
    decodes = active // 2
    budget = max(active, mt - max(1, mt // 16))
    q_lens = np.ones(active, np.int64)
    for i in range(decodes, active):
        share = (budget - q_lens.sum()) // (active - i)
        more = rng.integers(share // 2, share + 1) if i + 1 < active else share
        q_lens[i] = min(capacity, 1 + more)
    kv_lens = np.array([rng.integers(n, capacity + 1) for n in q_lens])
    kv_lens[-1] = q_lens[-1]
    kv_lens[0] = q_lens[0]
    order = rng.permutation(active)
    q_lens, kv_lens = q_lens[order], kv_lens[order]

    cu_q_lens = np.full(ms + 1, mt)
    cu_q_lens[: active + 1] = np.append(0, np.cumsum(q_lens))
    lengths = rng.integers(1, capacity + 1, ms)
    lengths[:active] = kv_lens
    page_indices = rng.permutation(ms * pp).reshape(ms, pp)

    queries = rng.standard_normal((mt, dims["Hq"], dims["D"]), dtype=np.float32)
    k, v = (rng.standard_normal((ms * pp, dims["Hkv"], ps, dims["D"]), dtype=np.float32) for _ in range(2))
    position = np.arange(capacity).reshape(pp, ps)
    for i in range(active):
        beyond, offsets = np.nonzero(position >= kv_lens[i])
        k[page_indices[i, beyond], :, offsets] = GARBAGE
        v[page_indices[i, beyond], :, offsets] = GARBAGE
    metadata = (lengths, page_indices, cu_q_lens, np.array([active]))
    floats = (array.astype(dtype) for array in (queries, k, v))
    return (*floats, *(array.astype(np.int32) for array in metadata))


def create_classic_inputs(dims, dtype, original=False):
    """One uniform trace with full caches and identity pages: what a quick benchmark would draw."""
    mt, ms, pp, ps = dims["mt"], dims["ms"], dims["pp"], dims["ps"]
    keys = jax.random.split(jax.random.key(0), 3)
    queries = jax.random.normal(keys[0], (mt, dims["Hq"], dims["D"]), dtype=dtype)
    k, v = (jax.random.normal(key, (ms * pp, dims["Hkv"], ps, dims["D"]), dtype=dtype) for key in keys[1:])
    rows = min(mt // ms, pp * ps)
    metadata = (
        np.full(ms, pp * ps),
        np.arange(ms * pp).reshape(ms, pp),
        np.arange(ms + 1) * rows,
        np.array([ms]),
    )
    return (*(np.asarray(array) for array in (queries, k, v)), *(array.astype(np.int32) for array in metadata))


def workload(queries, k_pages, v_pages, kv_lens, page_indices, cu_q_lens, num_seqs):
    mt, Hq, D = queries.shape
    ms, pp = page_indices.shape
    _, Hkv, ps, _ = k_pages.shape
    rows = min(ROWS_PER_STEP, mt)
    wide = jnp.promote_types(queries.dtype, jnp.float32)
    padded = jnp.pad(queries, ((0, rows), (0, 0), (0, 0)))

    # Each step takes up to `rows` query rows of one sequence; steps_until[i] counts the steps of sequences 0 to i.
    q_lens = jnp.where(jnp.arange(ms) < num_seqs[0], jnp.diff(cu_q_lens), 0)
    steps = (q_lens + rows - 1) // rows
    steps_until = jnp.cumsum(steps)

    def cache_of(pages, i):
        return jnp.moveaxis(pages[page_indices[i]], 1, 0).reshape(Hkv, pp * ps, D)

    def attend(out, step):
        i = jnp.minimum(jnp.searchsorted(steps_until, step, side="right"), ms - 1)
        first = cu_q_lens[i] + (step - (steps_until[i] - steps[i])) * rows
        row = first + jnp.arange(rows)
        q = jax.lax.dynamic_slice_in_dim(padded, first, rows).reshape(rows, Hkv, Hq // Hkv, D)
        k, v = cache_of(k_pages, i), cache_of(v_pages, i)

        scores = jnp.einsum("rhgd,hkd->hgrk", q, k, preferred_element_type=wide) * D**-0.5
        query_position = kv_lens[i] - q_lens[i] + (row - cu_q_lens[i])
        visible = jnp.arange(pp * ps) <= query_position[:, None]
        scores = jnp.where(visible, scores, -0.7 * jnp.finfo(jnp.float32).max)
        weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
        result = jnp.einsum("hgrk,hkd->rhgd", weights, v).reshape(rows, Hq, D)

        mine = (step < steps_until[-1]) & (row < cu_q_lens[i + 1])
        old = jax.lax.dynamic_slice_in_dim(out, first, rows)
        new = jnp.where(mine[:, None, None], result.astype(out.dtype), old)
        return jax.lax.dynamic_update_slice_in_dim(out, new, first, 0), None

    most_steps = mt // rows + ms
    out, _ = jax.lax.scan(attend, jnp.zeros_like(padded), jnp.arange(most_steps))
    return out[:mt]
