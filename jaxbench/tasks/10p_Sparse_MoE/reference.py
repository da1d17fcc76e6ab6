"""Mixture of SwiGLU experts: each token goes to its topk experts, weighed by a softmax over their router logits."""

import jax
import jax.numpy as jnp
import numpy as np

TOP_K = 2
LEAST_MARGIN = 0.1
TIE_TOKENS = 2


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1), router and kernels ~ N(0, 1/fan_in); routing is either clear or an exact tie.

    Tokens whose 2nd and 3rd logits are nearer than LEAST_MARGIN are drawn again: rounding may not decide the expert.
    Two experts share a router column, and TIE_TOKENS rows select coordinate 0 alone, where these two tie for the
    second place, exactly at any precision: the lower index must win.
    """
    tokens, E, F, X = dims["B"] * dims["S"], dims["E"], dims["F"], dims["X"]
    router = rng.standard_normal((E, X), dtype=np.float32) / np.float32(np.sqrt(E))
    first, low, high = rng.permutation(X)[:3] if X > 2 else (0, 0, 0)
    low, high = min(low, high), max(low, high)
    router[:, high] = router[:, low]
    router[0] = -1.0
    router[0, [first, low, high]] = (2.0, 1.0, 1.0)
    router = router.astype(dtype)

    x = rng.standard_normal((tokens, E), dtype=np.float32).astype(dtype)
    pending = np.arange(tokens)
    while pending.size:
        logits = np.sort(x[pending].astype(np.float32) @ router.astype(np.float32), axis=1)[:, ::-1]
        pending = pending[_margin(logits) < LEAST_MARGIN]
        x[pending] = rng.standard_normal((pending.size, E), dtype=np.float32).astype(dtype)
    if X > TOP_K and tokens > TIE_TOKENS:
        ties = rng.choice(tokens, TIE_TOKENS, replace=False)
        x[ties] = 0
        x[ties, 0] = 2.0
    kernels = [
        (rng.standard_normal((X, *shape), dtype=np.float32) / np.float32(np.sqrt(shape[0]))).astype(dtype)
        for shape in ((E, F), (E, F), (F, E))
    ]
    return (x.reshape(dims["B"], dims["S"], E), router, *kernels)


def _margin(ordered):
    """Distance between the last chosen and the first refused logit of each row."""
    if ordered.shape[1] <= TOP_K:
        return np.full(len(ordered), np.inf)
    return ordered[:, TOP_K - 1] - ordered[:, TOP_K]


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    E, F, X = dims["E"], dims["F"], dims["X"]
    keys = jax.random.split(jax.random.key(42), 5)
    x = jax.random.normal(keys[0], (dims["B"], dims["S"], E), dtype=dtype)
    shapes = ((E, X), (X, E, F), (X, E, F), (X, F, E))
    weights = [jax.random.normal(key, s, dtype=dtype) * 0.02 for key, s in zip(keys[1:], shapes, strict=True)]
    return tuple(np.asarray(array) for array in (x, *weights))


def workload(x, router_weights, expert_gate_kernels, expert_up_kernels, expert_down_kernels):
    experts = router_weights.shape[1]
    logits = x @ router_weights
    chosen_logits, chosen = jax.lax.top_k(logits, TOP_K)
    wide = jnp.promote_types(x.dtype, jnp.float32)
    shares = jax.nn.softmax(chosen_logits, axis=-1)
    combine = jnp.sum(jax.nn.one_hot(chosen, experts, dtype=wide) * shares[..., None].astype(wide), axis=-2)

    def add_expert(total, expert):
        gate, up, down, share = expert
        result = (jax.nn.silu(x @ gate) * (x @ up)) @ down
        return total + share[..., None] * result.astype(wide), None

    # Dense over experts, as published: every expert sees every token, and unchosen ones get weight zero.
    kernels = (expert_gate_kernels, expert_up_kernels, expert_down_kernels)
    total, _ = jax.lax.scan(add_expert, jnp.zeros(x.shape, wide), (*kernels, jnp.moveaxis(combine, -1, 0)))
    return total
