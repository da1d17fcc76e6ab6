"""Grouped matrix product: consecutive, uneven groups of rows, each with a weight of its own."""

import jax
import jax.numpy as jnp
import numpy as np

ROWS_PER_STEP = 256


def create_inputs(rng, dims, dtype):
    """lhs ~ N(0, 1), rhs ~ N(0, 1/K); one group empty, one of a single row, the rest uneven, some rows in no group."""
    M, K, N, G = dims["M"], dims["K"], dims["N"], dims["G"]
    lhs = rng.standard_normal((M, K), dtype=np.float32)
    rhs = rng.standard_normal((G, K, N), dtype=np.float32) / np.float32(np.sqrt(K))
    used = M - max(1, M // 16)
    sizes = np.zeros(G, np.int64)
    singles = 1 if G >= 3 and used > 1 else 0
    filled = max(1, G - 2)
    sizes[:filled] = rng.multinomial(used - singles, rng.dirichlet(np.full(filled, 2.0)))
    sizes[G - 1] += singles
    return lhs.astype(dtype), rhs.astype(dtype), rng.permutation(sizes).astype(np.int32)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws, groups all equal; in the original version products are about 1e-15."""
    M, K, N, G = dims["M"], dims["K"], dims["N"], dims["G"]
    key_lhs, key_rhs = jax.random.split(jax.random.key(42), 2)
    if original:
        bound = 1.0 / (M * K)
        lhs = jax.random.uniform(key_lhs, (M, K), dtype=dtype, minval=-bound, maxval=bound)
        rhs = jax.random.uniform(key_rhs, (G, K, N), dtype=dtype, minval=-bound, maxval=bound)
    else:
        lhs = jax.random.normal(key_lhs, (M, K), dtype=dtype)
        rhs = jax.random.normal(key_rhs, (G, K, N), dtype=dtype) * 0.02
    return np.asarray(lhs), np.asarray(rhs), np.full(G, M // G, np.int32)


def workload(lhs, rhs, group_sizes):
    M, groups = lhs.shape[0], rhs.shape[0]
    rows = min(ROWS_PER_STEP, M)
    padded = jnp.pad(lhs, ((0, rows), (0, 0)))
    ends = jnp.cumsum(group_sizes)
    starts = ends - group_sizes

    # Each step takes up to `rows` rows of one group; steps_until[g] counts the steps of groups 0 to g.
    steps = (group_sizes + rows - 1) // rows
    steps_until = jnp.cumsum(steps)

    def multiply(out, step):
        g = jnp.minimum(jnp.searchsorted(steps_until, step, side="right"), groups - 1)
        first = starts[g] + (step - (steps_until[g] - steps[g])) * rows
        product = jax.lax.dynamic_slice_in_dim(padded, first, rows) @ rhs[g]
        mine = (step < steps_until[-1]) & (first + jnp.arange(rows) < ends[g])
        old = jax.lax.dynamic_slice_in_dim(out, first, rows)
        new = jnp.where(mine[:, None], product, old)
        return jax.lax.dynamic_update_slice_in_dim(out, new, first, 0), None

    out = jnp.zeros((M + rows, rhs.shape[2]), lhs.dtype)
    most_steps = M // rows + groups
    out, _ = jax.lax.scan(multiply, out, jnp.arange(most_steps))
    return out[:M]
