"""Which lanes of a capture mean what. Names are the profiler's; the same in an XSpace and in its JSON."""

from __future__ import annotations

import re

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.targets import parse_target

MODULES = "XLA Modules"
OPS = "XLA Ops"
# Lanes that repeat, group or annotate what the two above say.
_OTHER = frozenset(
    {
        "_counters_",
        "Async XLA Ops",
        "Framework Name Scope",
        "Framework Ops",
        "Overlay",
        "Source code",
        "Sparse Core Steps",
        "Steps",
        "TensorFlow Name Scope",
        "TensorFlow Ops",
        "TensorCore Busy",
        "XLA TraceMe",
    }
)
_TRACING = frozenset({"LLO Ops", "Pallas Primitives", "MXU Instructions"})
_CORE = re.compile(r"^/device:TPU:(\d+)$")


def core_number(process: str) -> int | None:
    """Return the core a plane or process stands for, None for hosts and everything else."""
    match = _CORE.match(process)
    return int(match.group(1)) if match else None


def is_region(lane: str) -> bool:
    """Whether a device lane holds stretches inside kernels."""
    return lane not in _OTHER and lane not in {MODULES, OPS}


def traces_kernels(lane: str) -> bool:
    """Whether the lane is there only when custom-call tracing is on, which changes the schedule."""
    return lane in _TRACING


def same_device(one: str, other: str) -> bool:
    """Whether two device kinds, as spelled by different tools, are the same generation."""
    try:
        return parse_target(one) is parse_target(other)
    except MisuseError:
        return one.casefold() == other.casefold()
