"""The way in: a file or folder becomes a normalised profile."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from maxkernel_tools.chips.table import chip
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.targets import Target
from maxkernel_tools.traces.building import build_core, build_regions, core_clock
from maxkernel_tools.traces.hlostats import is_table, read_hlo_stats
from maxkernel_tools.traces.profile import Capture, Clock, Device, Module, Op, Region, TraceProfile
from maxkernel_tools.traces.raw import RawCapture
from maxkernel_tools.traces.tracejson import load_json, read_trace_json
from maxkernel_tools.traces.xplane import read_xplane

_PATTERNS = ("*.xplane.pb", "*.trace.json.gz", "*.trace.json")


def find_capture(path: Path) -> Path:
    """Return the capture a path means: the file itself, or the newest run inside a folder.

    Raises:
        MisuseError: there is none.
    """
    if path.is_file():
        return path
    if path.is_dir():
        for pattern in _PATTERNS:
            found = list(path.rglob(pattern))
            if found:
                # Runs are folders named by time; of one run's hosts the first by name.
                newest = max(one.parent for one in found)
                return min(one for one in found if one.parent == newest)
    raise MisuseError(
        f"No capture at {path.name}.",
        allowed="a file " + ", ".join(_PATTERNS) + ", or a folder that holds one.",
        action="Give the path of a capture.",
    )


def told_device(target: Target) -> Device:
    """Return the device of a target, for captures that do not name theirs. Peaks are per core."""
    facts = chip(target)
    return Device(
        kind=facts.device_kind,
        origin="told",
        peak_flops=facts.peak_for("bf16") / facts.cores,
        peak_hbm_bytes_per_s=facts.hbm_bytes_per_s / facts.cores,
    )


Reported = Callable[[float], None]
"""``progress(done)``: how much of 1 is read."""


def read_profile(path: Path, *, target: Target | None = None, progress: Reported | None = None) -> TraceProfile:
    """Read one capture.

    Args:
        path: an ``*.xplane.pb``, a ``*.trace.json.gz``, xprof's ``hlo_stats`` JSON, or a folder that holds a capture.
        target: the chip, where the capture does not name it; a capture's own word wins.
        progress: told how far it is.

    Raises:
        MisuseError: there is no capture, or it is damaged.
    """
    file = find_capture(path)
    said = progress or _silent
    told = told_device(target) if target else Device()
    packed = file.name.endswith(".pb")
    raw = read_xplane(file, lambda done: said(0.8 * done)) if packed else _read_json(file, told)
    said(0.85)
    sha256 = _hash(file)
    said(0.9)
    if not raw.device.kind and target:
        raw.device = told
    return normalise(raw, file, sha256)


def _silent(done: float) -> None:
    """Report to nobody."""


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_json(file: Path, told: Device) -> RawCapture:
    content = load_json(file)
    return read_hlo_stats(file, content, told) if is_table(content) else read_trace_json(file, content)


def normalise(raw: RawCapture, file: Path, sha256: str) -> TraceProfile:
    """Turn what a reader found into a profile; ``file`` and ``sha256`` name the capture."""
    clocks = [core_clock(core) for core in raw.cores if core.ops]
    clock: Clock = "host" if any(one == "host" for one, _ in clocks) else "device"
    warnings = [*raw.warnings, *(warning for _, warning in clocks if warning)]
    device = replace(raw.device, cores=tuple(core.core for core in raw.cores))
    modules: list[Module] = []
    ops: list[Op] = list(raw.table)
    regions: list[Region] = []
    for core in raw.cores:
        core_modules, core_ops = build_core(core, clock, device)
        modules.extend(core_modules)
        ops.extend(core_ops)
        regions.extend(build_regions(core))
    if not ops and not raw.truncated:
        warnings.append("no ops of a TPU in this capture")
    untrusted = sorted({op.base for op in ops if not op.trusted})
    if untrusted:
        warnings.append("flops above the chip's peak, not to be believed: " + ", ".join(untrusted[:5]))
    capture = Capture(
        name=file.name,
        sha256=sha256,
        format=raw.format,
        versions=raw.versions,
        flags=raw.flags,
        warnings=tuple(warnings),
        truncated=raw.truncated,
    )
    return TraceProfile(capture, device, clock, tuple(modules), tuple(ops), tuple(regions))
