"""Reads ``*.xplane.pb`` into raw events. Owns what stats mean; the wire format is ``xspace``, the rest ``building``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from maxkernel_tools.traces.building import CoreEvents, OpFacts, RawEvent
from maxkernel_tools.traces.lanes import MODULES, OPS, core_number, is_region, traces_kernels
from maxkernel_tools.traces.profile import Device
from maxkernel_tools.traces.raw import RawCapture
from maxkernel_tools.traces.xspace import (
    EventMetadata,
    Line,
    Plane,
    Stat,
    StatValue,
    parse_space,
    stat_names,
    stat_values,
    text,
)

_VERSIONS = ("jax_version", "jaxlib_version", "libtpu_version", "xla_version", "profiler_version")


def read_xplane(path: Path, data: bytes) -> RawCapture:
    """Read the device planes of a capture.

    Raises:
        MisuseError: the bytes are no XSpace.
    """
    space = parse_space(data, path.name)
    warnings = [f"the profiler reports: {text(one)[:300]}" for one in (*space.errors, *space.warnings)]
    cores: list[CoreEvents] = []
    device = Device()
    flags: dict[str, str] = {"custom-call-tracing": "off"}
    versions: dict[str, str] = {}
    for plane in space.planes:
        core = core_number(text(plane.name))
        names = stat_names(plane)
        if core is None:
            stats = stat_values(plane.stats, names)
            versions.update({name: str(stats[name]) for name in _VERSIONS if name in stats})
            continue
        if any(traces_kernels(text(line.name)) for line in plane.lines):
            flags["custom-call-tracing"] = "on"
        cores.append(_core(core, plane, names))
        if not device.kind:
            device = _device(stat_values(plane.stats, names))
    return RawCapture("xplane", cores, device, flags=flags, versions=versions, warnings=warnings)


def _device(stats: Mapping[str, StatValue]) -> Device:
    kind = stats.get("device_type_string")
    flops, bandwidth = stats.get("peak_teraflops_per_second"), stats.get("peak_hbm_bw_gigabytes_per_second")
    return Device(
        kind=kind if isinstance(kind, str) else "",
        origin="read" if kind else "unknown",
        peak_flops=flops * 1e12 if isinstance(flops, int | float) and flops else None,
        peak_hbm_bytes_per_s=bandwidth * 1e9 if isinstance(bandwidth, int | float) and bandwidth else None,
    )


def _core(core: int, plane: Plane, names: Mapping[int, str]) -> CoreEvents:
    metadata = {entry.key: entry.value for entry in plane.event_metadata}
    shown = {key: text(one.display_name or one.name) for key, one in metadata.items()}
    full = {key: text(one.name) for key, one in metadata.items()}
    clock = _ClockIds.of(names)
    facts: list[OpFacts] = [OpFacts()]
    places: dict[int, int] = {}
    events = CoreEvents(core, [], [], facts, {})
    regions: dict[str, list[RawEvent]] = {}
    for line in plane.lines:
        lane = text(line.name or line.display_name)
        if lane == MODULES:
            events.modules.extend(_events(line, full, clock, {}))
        elif lane == OPS:
            for key in {event.metadata_id for event in line.events} - places.keys():
                places[key] = len(facts)
                facts.append(_facts(metadata[key], names) if key in metadata else OpFacts())
            events.ops.extend(_events(line, shown, clock, places))
        elif is_region(lane):
            regions.setdefault(lane, []).extend(_events(line, shown, clock, {}))
    events.regions = regions
    return events


class _ClockIds:
    """Metadata ids of the two stats that carry the device's clock."""

    def __init__(self, offset: int, duration: int) -> None:
        self.offset = offset
        self.duration = duration

    @classmethod
    def of(cls, names: Mapping[int, str]) -> _ClockIds:
        ids = {name: key for key, name in names.items()}
        return cls(ids.get("device_offset_ps", -1), ids.get("device_duration_ps", -1))


def _events(line: Line, names: Mapping[int, str], clock: _ClockIds, places: Mapping[int, int]) -> list[RawEvent]:
    base = line.timestamp_ns * 1000
    offset_id, duration_id = clock.offset, clock.duration
    found: list[RawEvent] = []
    for event in line.events:
        start: int | None = None
        length: int | None = None
        for stat in event.stats:
            if stat.metadata_id == duration_id:
                length = _integer(stat)
            elif stat.metadata_id == offset_id:
                start = _integer(stat)
        key = event.metadata_id
        name = names.get(key, f"event {key}")
        found.append(RawEvent(name, base + event.offset_ps, event.duration_ps, start, length, places.get(key, 0)))
    return found


def _integer(stat: Stat) -> int:
    return stat.uint64_value or stat.int64_value


def _facts(metadata: EventMetadata, names: Mapping[int, str]) -> OpFacts:
    stats = stat_values(metadata.stats, names)
    flops = stats.get("model_flops", stats.get("flops"))
    accessed = stats.get("bytes_accessed")
    program = stats.get("program_id")
    return OpFacts(
        scope=str(stats.get("tf_op", "")).rstrip(":"),
        category=str(stats.get("hlo_category", "")),
        hlo=text(metadata.name),
        shape=str(stats.get("shape_with_layout", "")),
        source=str(stats.get("source", "")),
        # Module names print the fingerprint unsigned.
        program_id=str(program % 2**64) if isinstance(program, int) else "",
        flops=int(flops) if isinstance(flops, int | float) else None,
        bytes=int(accessed) if isinstance(accessed, int | float) else None,
    )
