"""Multi-head latent attention, one decode step in the absorbed form: every head reads the same latent cache."""

import jax
import jax.numpy as jnp
import numpy as np

SCALE_DIM = 192
GARBAGE = 1000.0


def create_inputs(rng, dims, dtype):
    """Latent and rotary parts that weigh the same in scores of unit spread; ragged lengths, 1 and N among them.

    Cache past a sequence's length is large finite garbage.
    """
    B, H, N, kvl, rope = dims["B"], dims["H"], dims["N"], dims["kvl"], dims["rope"]
    half = np.float32(np.sqrt(SCALE_DIM / 2))
    q_latent = rng.standard_normal((B, H, kvl), dtype=np.float32) * half / np.float32(np.sqrt(kvl))
    q_rope = rng.standard_normal((B, H, rope), dtype=np.float32) * half / np.float32(np.sqrt(rope))
    cache = rng.standard_normal((B, N, kvl + rope), dtype=np.float32)
    lengths = rng.integers(1, N + 1, B)
    lengths[rng.permutation(B)[:2]] = (1, N)[:B]
    cache[np.arange(N) >= lengths[:, None]] = GARBAGE
    return q_latent.astype(dtype), q_rope.astype(dtype), cache.astype(dtype), lengths.astype(np.int32)


def create_classic_inputs(dims, dtype, original=False):
    """Unit normals and full caches: what a quick benchmark would draw."""
    B, H, N, kvl, rope = dims["B"], dims["H"], dims["N"], dims["kvl"], dims["rope"]
    keys = jax.random.split(jax.random.key(0), 3)
    shapes = ((B, H, kvl), (B, H, rope), (B, N, kvl + rope))
    arrays = [jax.random.normal(key, shape, dtype=dtype) for key, shape in zip(keys, shapes, strict=True)]
    return (*(np.asarray(array) for array in arrays), np.full(B, N, np.int32))


def workload(q_latent, q_rope, cache, lengths):
    kvl = q_latent.shape[-1]
    wide = jnp.promote_types(cache.dtype, jnp.float32)
    latent, rotary = cache[..., :kvl], cache[..., kvl:]
    scores = jnp.einsum("bhc,bnc->bhn", q_latent, latent, preferred_element_type=wide)
    scores = (scores + jnp.einsum("bhr,bnr->bhn", q_rope, rotary, preferred_element_type=wide)) * SCALE_DIM**-0.5
    valid = jnp.arange(cache.shape[1]) < lengths[:, None]
    weights = jax.nn.softmax(jnp.where(valid[:, None, :], scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhn,bnc->bhc", weights.astype(cache.dtype), latent)
