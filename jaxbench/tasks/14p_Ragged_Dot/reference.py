"""Batched matrix product: out[g] = x[g] @ weights[g]."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); weights ~ N(0, 1/K)."""
    G, K = dims["G"], dims["K"]
    x = rng.standard_normal((G, dims["m"], K), dtype=np.float32)
    weights = rng.standard_normal((G, K, dims["N"]), dtype=np.float32) / np.float32(np.sqrt(K))
    return x.astype(dtype), weights.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    G, K = dims["G"], dims["K"]
    key_x, key_weights = jax.random.split(jax.random.key(42), 2)
    x = jax.random.normal(key_x, (G, dims["m"], K), dtype=dtype)
    weights = jax.random.normal(key_weights, (G, K, dims["N"]), dtype=dtype) * 0.02
    return np.asarray(x), np.asarray(weights)


def workload(x, weights):
    return jnp.einsum("gmk,gkn->gmn", x, weights)
