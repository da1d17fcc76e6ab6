"""Real captures, read once for all tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from maxkernel_tools.traces import TraceProfile, read_profile
from tests.shared_data import shared_path


@cache
def _read(path: Path) -> TraceProfile:
    return read_profile(path)


def inference(name: str) -> TraceProfile:
    """Return one of the two captures of an inference step."""
    return _read(shared_path("data", "traces", "tpu-inference", f"{name}.trace.json.gz"))


def v6e() -> TraceProfile:
    """Return the capture of four v6e chips."""
    return _read(shared_path("data", "traces", "openxla-xprof", "tpu_inference_2.old.xplane.pb"))
