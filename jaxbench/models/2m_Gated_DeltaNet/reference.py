"""Gated DeltaNet over a sequence: a decayed state per head, corrected at each key towards its value."""

import jax
import jax.numpy as jnp
import numpy as np

NORM_EPSILON = 1e-6


def create_inputs(rng, dims, dtype):
    """q, k, v ~ N(0, 1); decays exp(g) from 0.9 to 1 for half of the heads, from 0.5 for the rest; beta from 0.1."""
    B, S, Hk, Hv = dims["B"], dims["S"], dims["Hk"], dims["Hv"]
    q, k = (rng.standard_normal((B, S, Hk, dims["dk"]), dtype=np.float32) for _ in range(2))
    v = rng.standard_normal((B, S, Hv, dims["dv"]), dtype=np.float32)
    lowest = np.where(np.arange(Hv) % 2 == 0, 0.9, 0.5)
    g = np.log(rng.uniform(np.broadcast_to(lowest, (B, S, Hv)), 1.0))
    beta = rng.uniform(0.1, 1.0, (B, S, Hv))
    return q.astype(dtype), k.astype(dtype), v.astype(dtype), g.astype(np.float32), beta.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """Unit normals, g = logsigmoid of a normal, beta = sigmoid of a normal: what a quick benchmark would draw."""
    B, S, Hk, Hv = dims["B"], dims["S"], dims["Hk"], dims["Hv"]
    keys = jax.random.split(jax.random.key(0), 5)
    q, k = (jax.random.normal(key, (B, S, Hk, dims["dk"]), dtype=dtype) for key in keys[:2])
    v = jax.random.normal(keys[2], (B, S, Hv, dims["dv"]), dtype=dtype)
    g = jax.nn.log_sigmoid(jax.random.normal(keys[3], (B, S, Hv), dtype=jnp.float32))
    beta = jax.nn.sigmoid(jax.random.normal(keys[4], (B, S, Hv), dtype=dtype))
    return tuple(np.asarray(array) for array in (q, k, v, g, beta))


def workload(q, k, v, g, beta):
    group = v.shape[2] // k.shape[2]
    wide = jnp.promote_types(v.dtype, jnp.float32)
    q = jnp.repeat(_normalised(q.astype(wide)), group, axis=2) * q.shape[-1] ** -0.5
    k = jnp.repeat(_normalised(k.astype(wide)), group, axis=2)

    def step(state, now):
        q_t, k_t, v_t, g_t, beta_t = now
        state = state * jnp.exp(g_t)[:, :, None, None]
        error = (v_t - jnp.einsum("bhk,bhkv->bhv", k_t, state)) * beta_t[:, :, None]
        state = state + k_t[:, :, :, None] * error[:, :, None, :]
        return state, jnp.einsum("bhk,bhkv->bhv", q_t, state).astype(v.dtype)

    # Time first for the scan, back afterwards.
    over_time = [jnp.moveaxis(array.astype(wide), 1, 0) for array in (q, k, v, g, beta)]
    first = jnp.zeros((v.shape[0], v.shape[2], k.shape[-1], v.shape[-1]), wide)
    state, out = jax.lax.scan(step, first, tuple(over_time))
    return jnp.moveaxis(out, 0, 1), state


def _normalised(x):
    return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + NORM_EPSILON)
