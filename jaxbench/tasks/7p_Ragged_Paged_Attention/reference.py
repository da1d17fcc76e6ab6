"""Ragged paged attention: packed query tokens of prefilling and decoding sequences over a paged key-value cache."""

import jax
import jax.numpy as jnp
import numpy as np

ROWS_PER_STEP = 128
GARBAGE = 1000.0


def create_inputs(rng, dims, dtype):
    """Unit-spread q, k, v; one prefill fills its cache from empty, one decode has a single key; permuted pages.

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
    pages = rng.standard_normal((ms * pp, ps, 2 * dims["Hkv"], dims["D"]), dtype=np.float32)
    position = np.arange(capacity).reshape(pp, ps)
    for i in range(active):
        beyond, offsets = np.nonzero(position >= kv_lens[i])
        pages[page_indices[i, beyond], offsets] = GARBAGE
    metadata = (lengths, page_indices, cu_q_lens, np.array([active]))
    return (queries.astype(dtype), pages.astype(dtype), *(array.astype(np.int32) for array in metadata))


def create_classic_inputs(dims, dtype, original=False):
    """The published trace, in proportion at smaller dims; the original one is uniform with identity pages."""
    mt, ms, pp, ps = dims["mt"], dims["ms"], dims["pp"], dims["ps"]
    capacity = pp * ps
    keys = jax.random.split(jax.random.key(42), 2 if original else 3)
    queries = jax.random.normal(keys[0], (mt, dims["Hq"], dims["D"]), dtype=dtype)
    pages = jax.random.normal(keys[1], (ms * pp, ps, 2 * dims["Hkv"], dims["D"]), dtype=dtype)
    if original:
        kv_lens, active = np.full(ms, capacity), ms
        page_indices = np.arange(ms * pp).reshape(ms, pp)
        cu_q_lens = np.arange(ms + 1) * (mt // ms)
    else:
        decodes, prefills = ms * 3 // 4, max(1, ms // 8)
        active = decodes + prefills
        decode_lens = [min(capacity, 257 + (73 * i % 240) * 16) for i in range(decodes)]
        prefill_lens = [max(min(capacity - 1, 1023 + 512 * i), mt // prefills) for i in range(prefills)]
        kv_lens = np.array(decode_lens + prefill_lens + [0] * (ms - active))
        page_indices = np.asarray(jax.random.permutation(keys[2], ms * pp)).reshape(ms, pp)
        prefill_rows = [mt // prefills] * (prefills - 1)
        q_lens = [1] * decodes + prefill_rows + [mt - decodes - sum(prefill_rows)]
        cu_q_lens = np.append(np.append(0, np.cumsum(q_lens)), np.full(ms - active, mt))
    metadata = (kv_lens, page_indices, cu_q_lens, np.array([active]))
    return (np.asarray(queries), np.asarray(pages), *(array.astype(np.int32) for array in metadata))


def workload(queries, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs):
    mt, Hq, D = queries.shape
    ms, pp = page_indices.shape
    ps, Hkv = kv_pages.shape[1], kv_pages.shape[2] // 2
    rows = min(ROWS_PER_STEP, mt)
    wide = jnp.promote_types(queries.dtype, jnp.float32)
    padded = jnp.pad(queries, ((0, rows), (0, 0), (0, 0)))

    # Each step takes up to `rows` query rows of one sequence; steps_until[i] counts the steps of sequences 0 to i.
    q_lens = jnp.where(jnp.arange(ms) < num_seqs[0], jnp.diff(cu_q_lens), 0)
    steps = (q_lens + rows - 1) // rows
    steps_until = jnp.cumsum(steps)

    def attend(out, step):
        i = jnp.minimum(jnp.searchsorted(steps_until, step, side="right"), ms - 1)
        first = cu_q_lens[i] + (step - (steps_until[i] - steps[i])) * rows
        row = first + jnp.arange(rows)
        q = jax.lax.dynamic_slice_in_dim(padded, first, rows).reshape(rows, Hkv, Hq // Hkv, D)
        kv = kv_pages[page_indices[i]].reshape(pp * ps, Hkv, 2, D)
        k, v = kv[:, :, 0], kv[:, :, 1]

        scores = jnp.einsum("rhgd,khd->hgrk", q, k, preferred_element_type=wide) * D**-0.5
        query_position = kv_lens[i] - q_lens[i] + (row - cu_q_lens[i])
        key_position = jnp.arange(pp * ps)
        visible = (key_position <= query_position[:, None]) & (key_position < kv_lens[i])
        scores = jnp.where(visible, scores, -0.7 * jnp.finfo(jnp.float32).max)
        weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
        result = jnp.einsum("hgrk,khd->rhgd", weights, v).reshape(rows, Hq, D)

        mine = (step < steps_until[-1]) & (row < cu_q_lens[i + 1])
        old = jax.lax.dynamic_slice_in_dim(out, first, rows)
        new = jnp.where(mine[:, None, None], result.astype(out.dtype), old)
        return jax.lax.dynamic_update_slice_in_dim(out, new, first, 0), None

    most_steps = mt // rows + ms
    out, _ = jax.lax.scan(attend, jnp.zeros_like(padded), jnp.arange(most_steps))
    return out[:mt]
