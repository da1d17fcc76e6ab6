"""Mamba-2 state space layer over a sequence: a decayed state per head, driven by B x and read by C."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """x, B, C ~ N(0, 1), C over sqrt(N); A from -0.1 to -4 by head; dt from 0.01 to 0.5; D ~ 1 + 0.4 N."""
    B, S, H, P, G, N = (dims[name] for name in ("B", "S", "H", "P", "G", "N"))
    x = rng.standard_normal((B, S, H, P), dtype=np.float32)
    dt = np.exp(rng.uniform(np.log(0.01), np.log(0.5), (B, S, H)))
    A = -rng.permutation(np.geomspace(0.1, 4.0, H))
    B_in = rng.standard_normal((B, S, G, N), dtype=np.float32)
    C_out = rng.standard_normal((B, S, G, N), dtype=np.float32) * np.float32(2.0 / np.sqrt(N))
    D_skip = 1.0 + 0.4 * rng.standard_normal(H, dtype=np.float32)
    f32 = np.float32
    return x.astype(dtype), dt.astype(f32), A.astype(f32), B_in.astype(dtype), C_out.astype(dtype), D_skip.astype(f32)


def create_classic_inputs(dims, dtype, original=False):
    """Unit normals, dt = softplus(normal - 4), A = -1, D = 1: what a quick benchmark would draw."""
    B, S, H, P, G, N = (dims[name] for name in ("B", "S", "H", "P", "G", "N"))
    keys = jax.random.split(jax.random.key(0), 4)
    x = jax.random.normal(keys[0], (B, S, H, P), dtype=dtype)
    dt = jax.nn.softplus(jax.random.normal(keys[1], (B, S, H), dtype=jnp.float32) - 4.0)
    B_in, C_out = (jax.random.normal(key, (B, S, G, N), dtype=dtype) for key in keys[2:])
    A, D_skip = -np.ones(H, np.float32), np.ones(H, np.float32)
    return np.asarray(x), np.asarray(dt), A, np.asarray(B_in), np.asarray(C_out), D_skip


def workload(x, dt, A, B_in, C_out, D_skip):
    group = x.shape[2] // B_in.shape[2]
    wide = jnp.promote_types(x.dtype, jnp.float32)
    A, D_skip = A.astype(wide), D_skip.astype(wide)

    def step(state, now):
        x_t, dt_t, B_t, C_t = now
        B_t, C_t = jnp.repeat(B_t, group, axis=1), jnp.repeat(C_t, group, axis=1)
        driven = (dt_t[:, :, None] * B_t)[:, :, :, None] * x_t[:, :, None, :]
        state = jnp.exp(dt_t * A)[:, :, None, None] * state + driven
        y_t = jnp.einsum("bhn,bhnp->bhp", C_t, state) + D_skip[:, None] * x_t
        return state, y_t.astype(x.dtype)

    # Time first for the scan, back afterwards.
    over_time = tuple(jnp.moveaxis(array.astype(wide), 1, 0) for array in (x, dt, B_in, C_out))
    first = jnp.zeros((x.shape[0], x.shape[2], B_in.shape[-1], x.shape[-1]), wide)
    state, y = jax.lax.scan(step, first, over_time)
    return jnp.moveaxis(y, 0, 1), state
