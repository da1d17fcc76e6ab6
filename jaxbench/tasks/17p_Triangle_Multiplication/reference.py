"""Outgoing triangle multiplicative update of a pair representation, gated, with an RMS norm in the middle."""

import jax
import jax.numpy as jnp
import numpy as np

EPSILON = 1e-6


def create_inputs(rng, dims, dtype):
    """pair_act ~ N(0, 1); mask ~ Bernoulli(0.7); weights ~ N(0, 1/C); center_scale ~ 1 + 0.4 N."""
    N, C = dims["N"], dims["C"]
    pair_act = rng.standard_normal((N, N, C), dtype=np.float32)
    mask = (rng.random((N, N, 1)) < 0.7).astype(np.float32)
    weights = [rng.standard_normal((C, C), dtype=np.float32) / np.float32(np.sqrt(C)) for _ in range(6)]
    scale = 1.0 + 0.4 * rng.standard_normal(C, dtype=np.float32)
    arrays = (pair_act, mask, *weights[:4], scale, *weights[4:])
    return tuple(array.astype(dtype) for array in arrays)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    N, C = dims["N"], dims["C"]
    keys = jax.random.split(jax.random.key(42), 9)
    pair_act = jax.random.normal(keys[0], (N, N, C), dtype=dtype)
    mask = jnp.ones((N, N, 1), dtype=dtype)
    weights = [jax.random.normal(keys[i], (C, C), dtype=dtype) * 0.02 for i in (1, 2, 3, 4, 6, 7)]
    scale = 1.0 + 0.1 * jax.random.normal(keys[5], (C,), dtype=dtype)
    return tuple(np.asarray(array) for array in (pair_act, mask, *weights[:4], scale, *weights[4:]))


def workload(
    pair_act, mask, left_proj_w, right_proj_w, left_gate_w, right_gate_w, center_scale, out_proj_w, out_gate_w
):
    act = pair_act * mask
    left = (act @ left_proj_w) * jax.nn.sigmoid(act @ left_gate_w)
    right = (act @ right_proj_w) * jax.nn.sigmoid(act @ right_gate_w)
    tri = jnp.einsum("ikc,jkc->ijc", left, right)
    tri = tri / jnp.sqrt(jnp.mean(tri * tri, axis=-1, keepdims=True) + EPSILON) * center_scale
    return (tri @ out_proj_w) * jax.nn.sigmoid(pair_act @ out_gate_w)
