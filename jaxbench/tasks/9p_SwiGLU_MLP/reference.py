"""SwiGLU feed-forward: (silu(x @ gate) * (x @ up)) @ down."""

import jax
import numpy as np


def create_inputs(rng, dims, dtype):
    """x ~ N(0, 1); gate, up and down ~ N(0, 1/fan_in)."""
    E, F = dims["E"], dims["F"]
    x = rng.standard_normal((dims["B"], dims["S"], E), dtype=np.float32)
    kernels = [
        rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[0]))
        for shape in ((E, F), (E, F), (F, E))
    ]
    return (x.astype(dtype), *(kernel.astype(dtype) for kernel in kernels))


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    E, F = dims["E"], dims["F"]
    keys = jax.random.split(jax.random.key(42), 4)
    x = jax.random.normal(keys[0], (dims["B"], dims["S"], E), dtype=dtype)
    kernels = [
        jax.random.normal(key, shape, dtype=dtype) * 0.02
        for key, shape in zip(keys[1:], ((E, F), (E, F), (F, E)), strict=True)
    ]
    return tuple(np.asarray(array) for array in (x, *kernels))


def workload(x, gate_kernel, up_kernel, down_kernel):
    gate = jax.nn.silu(x @ gate_kernel)
    return (gate * (x @ up_kernel)) @ down_kernel
