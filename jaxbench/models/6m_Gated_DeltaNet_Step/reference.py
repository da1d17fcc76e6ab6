"""Gated DeltaNet, one decode step for a batch: decay the state, correct it at the key, read it at the query."""

import jax
import jax.numpy as jnp
import numpy as np

NORM_EPSILON = 1e-6


def create_inputs(rng, dims, dtype):
    """q, k, v ~ N(0, 1); state ~ N(0, 1); decays exp(g) in (0.5, 1); beta in (0.1, 1)."""
    B, Hk, Hv = dims["B"], dims["Hk"], dims["Hv"]
    q, k = (rng.standard_normal((B, Hk, dims["dk"]), dtype=np.float32) for _ in range(2))
    v = rng.standard_normal((B, Hv, dims["dv"]), dtype=np.float32)
    g = np.log(rng.uniform(0.5, 1.0, (B, Hv)))
    beta = rng.uniform(0.1, 1.0, (B, Hv))
    state = rng.standard_normal((B, Hv, dims["dk"], dims["dv"]), dtype=np.float32)
    return q.astype(dtype), k.astype(dtype), v.astype(dtype), g.astype(np.float32), beta.astype(dtype), state


def create_classic_inputs(dims, dtype, original=False):
    """Unit normals and a zero state: what a quick benchmark would draw."""
    B, Hk, Hv = dims["B"], dims["Hk"], dims["Hv"]
    keys = jax.random.split(jax.random.key(0), 5)
    q, k = (jax.random.normal(key, (B, Hk, dims["dk"]), dtype=dtype) for key in keys[:2])
    v = jax.random.normal(keys[2], (B, Hv, dims["dv"]), dtype=dtype)
    g = jax.nn.log_sigmoid(jax.random.normal(keys[3], (B, Hv), dtype=jnp.float32))
    beta = jax.nn.sigmoid(jax.random.normal(keys[4], (B, Hv), dtype=dtype))
    state = np.zeros((B, Hv, dims["dk"], dims["dv"]), np.float32)
    return (*(np.asarray(array) for array in (q, k, v, g, beta)), state)


def workload(q, k, v, g, beta, state):
    group = v.shape[1] // k.shape[1]
    wide = jnp.promote_types(v.dtype, jnp.float32)
    q = jnp.repeat(_normalised(q.astype(wide)), group, axis=1) * q.shape[-1] ** -0.5
    k = jnp.repeat(_normalised(k.astype(wide)), group, axis=1)
    state = state.astype(wide) * jnp.exp(g.astype(wide))[:, :, None, None]
    error = (v.astype(wide) - jnp.einsum("bhk,bhkv->bhv", k, state)) * beta.astype(wide)[:, :, None]
    state = state + k[:, :, :, None] * error[:, :, None, :]
    return jnp.einsum("bhk,bhkv->bhv", q, state).astype(v.dtype), state


def _normalised(x):
    return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + NORM_EPSILON)
