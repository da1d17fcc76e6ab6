"""Static rules over a kernel's text: a first filter, never the proof."""

from __future__ import annotations

from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.kernels import KernelSource


def inspect_source(source: KernelSource) -> tuple[Finding, ...]:
    """Return what the text alone gives away."""
    del source
    return ()


__all__ = ["inspect_source"]
