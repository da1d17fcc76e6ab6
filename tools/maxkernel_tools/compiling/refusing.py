"""Refuses a hopeless kernel before the compiler spends a minute on it, and never one that compiles.

Only what is certain counts: windows of blocked operands, without temporaries and without padding, against the limit in
force. A kernel that passes may still be refused by the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from maxkernel_tools.chips import chip
from maxkernel_tools.compiling.reports import Facts, pallas_calls, vmem_limit
from maxkernel_tools.diagnosing import hopeless
from maxkernel_tools.records.arrays import DTYPES
from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target

_SLACK = 1.02


def certain_bytes(call: Mapping[str, Any]) -> int:
    """Bytes the windows of a ``pallas_call`` take at the very least: blocks times buffers, unpadded."""
    total = 0
    for operand in call.get("operands", ()):
        dtype = str(operand.get("array", "")).partition("[")[0]
        block = operand.get("block")
        if operand.get("memory_space") != "vmem" or operand.get("kind") not in ("in", "out") or not block:
            continue
        bits = DTYPES.get(dtype, ("", 0))[1]
        total += prod(int(extent) for extent in block) * bits // 8 * int(operand.get("buffers", 1) or 1)
    return total


def refuse(kernel: KernelSource, facts: Facts, target: Target) -> Finding | None:
    """Return the finding for a kernel whose windows cannot fit, or None to let the compiler decide."""
    for call in pallas_calls(facts):
        if 0 in call.get("grid", ()):
            continue
        limit = min(vmem_limit(call, target), chip(target).vmem_bytes)
        used = certain_bytes(call)
        if used > limit * _SLACK:
            return hopeless(kernel, call, used, vmem_limit(call, target), target)
    return None
