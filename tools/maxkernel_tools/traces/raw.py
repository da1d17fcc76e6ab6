"""What a reader hands on: events by core, and what the file says about itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from maxkernel_tools.traces.building import CoreEvents
from maxkernel_tools.traces.profile import CaptureFormat, Device, Op


@dataclass(slots=True)
class RawCapture:
    """One file, read and not yet normalised.

    Attributes:
        truncated: events are missing; cores are empty then.
        table: ready ops, where the file is a table of totals and not a list of events.
    """

    format: CaptureFormat
    cores: list[CoreEvents]
    device: Device
    flags: dict[str, str] = field(default_factory=dict[str, str])
    versions: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])
    truncated: bool = False
    table: list[Op] = field(default_factory=list[Op])
