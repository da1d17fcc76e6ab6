"""Multi-head latent attention, prefill form: low-rank q and kv, one shared rotary key, causal softmax, projection."""

import jax
import jax.numpy as jnp
import numpy as np

ROPE_THETA = 10000.0
MASK_VALUE = -1e9


def _weight_shapes(dims):
    E, H, ql, kvl = dims["E"], dims["H"], dims["ql"], dims["kvl"]
    nope, rope, vd = dims["nope"], dims["rope"], dims["vd"]
    return ((E, ql), (ql, H * (nope + rope)), (E, kvl + rope), (kvl, H * nope), (kvl, H * vd), (H * vd, E))


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); every projection ~ N(0, 1/fan_in)."""
    x = rng.standard_normal((dims["B"], dims["S"], dims["E"]), dtype=np.float32)
    weights = [
        rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[0])) for shape in _weight_shapes(dims)
    ]
    return (x.astype(dtype), *(weight.astype(dtype) for weight in weights))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree on them (the original rotates neighbouring pairs)."""
    keys = jax.random.split(jax.random.key(42), 8)
    x = jax.random.normal(keys[0], (dims["B"], dims["S"], dims["E"]), dtype=dtype)
    weights = [
        jax.random.normal(key, shape, dtype=dtype) * 0.02
        for key, shape in zip(keys[1:7], _weight_shapes(dims), strict=True)
    ]
    return tuple(np.asarray(array) for array in (x, *weights))


def _rotate(x):
    """Rotate (B, S, heads, rope) by position, first half of the columns against the second."""
    length, rope = x.shape[1], x.shape[3]
    wide = jnp.promote_types(x.dtype, jnp.float32)
    frequency = ROPE_THETA ** (-jnp.arange(0, rope, 2, dtype=wide) / rope)
    angle = jnp.arange(length, dtype=wide)[:, None] * frequency
    cos, sin = (f(angle).astype(x.dtype)[None, :, None, :] for f in (jnp.cos, jnp.sin))
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def workload(x, q_down_proj, q_up_proj, kv_down_proj, k_up_proj, v_up_proj, o_proj):
    B, S, _ = x.shape
    kvl = k_up_proj.shape[0]
    rope = kv_down_proj.shape[1] - kvl
    H = (q_up_proj.shape[1] - k_up_proj.shape[1]) // rope
    nope, vd = k_up_proj.shape[1] // H, v_up_proj.shape[1] // H

    q = ((x @ q_down_proj) @ q_up_proj).reshape(B, S, H, nope + rope)
    q = jnp.concatenate([q[..., :nope], _rotate(q[..., nope:])], axis=-1)
    kv = x @ kv_down_proj
    latent, shared = kv[..., :kvl], _rotate(kv[..., None, kvl:])
    k_nope = (latent @ k_up_proj).reshape(B, S, H, nope)
    k = jnp.concatenate([k_nope, jnp.broadcast_to(shared, (B, S, H, rope))], axis=-1)
    v = (latent @ v_up_proj).reshape(B, S, H, vd)

    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (nope + rope) ** -0.5
    causal = jnp.tril(jnp.ones((S, S), dtype=bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, MASK_VALUE), axis=-1)
    out = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    return out.reshape(B, S, H * vd) @ o_proj
