"""Dense matrix product: C = A @ B, accumulated in f32 and rounded once to the dtype of the operands."""

import jax
import jax.numpy as jnp
import numpy as np


def create_inputs(rng, dims, dtype):
    """A ~ N(0, 1); B ~ N(0, 1/K), so that C has unit spread at every K."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    A = rng.standard_normal((M, K), dtype=np.float32)
    B = rng.standard_normal((K, N), dtype=np.float32) / np.float32(np.sqrt(K))
    return A.astype(dtype), B.astype(dtype)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    M, K, N = dims["M"], dims["K"], dims["N"]
    key_a, key_b = jax.random.split(jax.random.key(42), 2)
    A = jax.random.normal(key_a, (M, K), dtype=dtype)
    B = jax.random.normal(key_b, (K, N), dtype=dtype) * 0.02
    return np.asarray(A), np.asarray(B)


def workload(A, B):
    return jnp.matmul(A, B)
