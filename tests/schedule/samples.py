"""Dumps stored from three compiler versions; the version is in the folder's name."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
PALLAS_GEMM = SAMPLES / "jax-0.10.2-libtpu-0.0.42-pallas-gemm"
"""2048^3 bfloat16 GEMM in 512 blocks, grid (4, 4, 4), for v6e."""
PALLAS_GEMM_012 = SAMPLES / "jax-0.12.0-libtpu-0.0.50-pallas-gemm"
"""The same kernel by the newer line's compiler."""
RMSNORM = SAMPLES / "jax-0.6.2-libtpu-0.0.17-rmsnorm"
"""XLA's RMSNorm of bf16[8,4096,8192] in two passes over HBM, for v6e."""
