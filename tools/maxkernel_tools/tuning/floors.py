"""What a configuration needs at the very least, from facts alone: the tier before any compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from maxkernel_tools.chips import Chip

STEP_CYCLES = 60
"""Bundles a pipelined grid step issues besides its body (seen in schedules: index updates, DMA starts, waits)."""


def floor_us(facts: Mapping[str, Any], hardware: Chip) -> float:
    """Return the µs no schedule of this configuration can beat: flops at peak, exact traffic at peak bandwidth."""
    total = 0.0
    for call in facts.get("pallas_calls") or ():
        trips = int(call.get("trips") or 1)
        moved = sum(int(operand.get("fetch_bytes") or 0) for operand in call.get("operands", ()))
        flops = int(call.get("flops") or 0)
        peak = max(hardware.peak_flops.values()) if flops else 1.0
        total += trips * max(flops / peak, moved / hardware.hbm_bytes_per_s)
    return total * 1e6


def guess_us(facts: Mapping[str, Any], hardware: Chip) -> float:
    """Return a first guess for ranking: achievable bandwidth, a fixed cost per grid step, the first block's arrival."""
    total = hardware.launch_us * 1e-6
    for call in facts.get("pallas_calls") or ():
        trips = int(call.get("trips") or 1)
        operands: Sequence[Mapping[str, Any]] = call.get("operands", ())
        moved = sum(int(operand.get("fetch_bytes") or 0) for operand in operands)
        steps = prod(int(extent or 1) for extent in call.get("grid") or (1,))
        first = sum(_per_fetch(operand) for operand in operands)
        compute = int(call.get("flops") or 0) / hardware.peak_for(_dtype(operands))
        overhead = steps * STEP_CYCLES / hardware.clock_hz
        transfer = moved / hardware.hbm_achievable_bytes_per_s
        latency = hardware.dma_latency_us * 1e-6 + first / hardware.hbm_achievable_bytes_per_s
        total += trips * (max(compute + overhead, transfer) + latency)
    return total * 1e6


def _per_fetch(operand: Mapping[str, Any]) -> float:
    fetches = int(operand.get("fetches") or 0)
    return int(operand.get("fetch_bytes") or 0) / fetches if fetches else 0.0


def _dtype(operands: Sequence[Mapping[str, Any]]) -> str:
    first = next((str(operand.get("array", "")) for operand in operands if operand.get("kind") == "in"), "bf16")
    return first.partition("[")[0]
