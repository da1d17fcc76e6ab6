"""Bytes a ``pallas_call`` keeps in VMEM: windows with buffering and tile padding, scratch, and the body's temporaries.

Padding follows the compiler's tiles: the last dimension is rounded up to 128 lanes, the one before it to the sublane
tile of the dtype (8 rows of 32 bits, packed for narrower types).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from maxkernel_tools.records.arrays import DTYPES

LANES, SUBLANES = 128, 8


def padded_bytes(dtype: str, shape: Sequence[int]) -> int:
    """Bytes of an array in VMEM with tile padding.

    Small second-to-last dimensions use smaller tiles (down to one packed row), as the compiler does.
    """
    bits = DTYPES.get(dtype, ("", 32))[1]
    if not shape:
        return 4 * LANES
    lanes = -(-shape[-1] // LANES) * LANES
    if len(shape) == 1:
        return -(-lanes * bits // 8)
    packing = max(1, 32 // bits)
    rows = shape[-2]
    tile = packing
    while tile < SUBLANES * packing and tile < rows:
        tile *= 2
    return prod(shape[:-2]) * (-(-rows // tile) * tile) * lanes * bits // 8


def window_bytes(operand: Mapping[str, Any]) -> int:
    """VMEM bytes of one operand of a ``pallas_call``: all buffers of its window, or its scratch."""
    if operand.get("memory_space") != "vmem":
        return 0
    dtype, _, rest = str(operand.get("array", "")).partition("[")
    if dtype not in DTYPES:
        return 0
    block = operand.get("block")
    shape = [int(extent) for extent in block] if block else [int(part) for part in rest.rstrip("]").split(",") if part]
    return padded_bytes(dtype, shape) * int(operand.get("buffers", 1) or 1)


def smem_bytes(operand: Mapping[str, Any]) -> int:
    """SMEM bytes of one operand."""
    if operand.get("memory_space") != "smem":
        return 0
    dtype, _, rest = str(operand.get("array", "")).partition("[")
    block = operand.get("block")
    shape = [int(extent) for extent in block] if block else [int(part) for part in rest.rstrip("]").split(",") if part]
    return prod(shape) * max(DTYPES.get(dtype, ("", 32))[1], 32) // 8 * int(operand.get("buffers", 1) or 1)


def largest_temporary(call: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The largest value the body computes (``array``, ``bytes``, ``line``), where known."""
    values: list[Mapping[str, Any]] = list((call or {}).get("temporaries", ()))
    return max(values, key=lambda value: int(value["bytes"]), default=None)
