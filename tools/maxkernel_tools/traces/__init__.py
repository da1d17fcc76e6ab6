"""Reads profiler captures into one normalised profile. No jax, no comparison."""

from maxkernel_tools.traces.profile import Capture, Device, Module, Op, Region, TraceProfile, select_runs
from maxkernel_tools.traces.reading import find_capture, read_profile, told_device

__all__ = [
    "Capture",
    "Device",
    "Module",
    "Op",
    "Region",
    "TraceProfile",
    "find_capture",
    "read_profile",
    "select_runs",
    "told_device",
]
