"""The only room that imports jax and the only processes that load kernel code."""
