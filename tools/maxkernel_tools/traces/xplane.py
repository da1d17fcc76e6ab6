"""Reads ``*.xplane.pb`` into columns of events. Owns what fields and stats mean; the wire format is ``wire``.

The file is mapped, not loaded. Planes of hosts (most of a large capture) are passed over, lanes that are not needed
too, and names are decoded only where an event uses them.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from google.protobuf import message

from maxkernel_tools.traces.building import CoreEvents, OpFacts
from maxkernel_tools.traces.events import Column, Events, check_times, joined, no_events
from maxkernel_tools.traces.lanes import MODULES, OPS, core_number, is_region, traces_kernels
from maxkernel_tools.traces.profile import Device
from maxkernel_tools.traces.raw import RawCapture
from maxkernel_tools.traces.wire import SPAN, VARINT, Buffer, Positions, WireError, fields, spans_of
from maxkernel_tools.traces.xspace import (
    EventMetadata,
    Stat,
    StatMetadata,
    StatValue,
    corrupt,
    message_classes,
    stat_values,
    text,
)

_VERSIONS: Final = ("jax_version", "jaxlib_version", "libtpu_version", "xla_version", "profiler_version")
# Field numbers of XSpace, XPlane, XLine and XEvent; source: tsl/profiler/protobuf/xplane.proto of OpenXLA.
_PLANE, _ERRORS, _WARNINGS = 1, 2, 3
_NAME, _LINES, _EVENT_METADATA, _STAT_METADATA, _STATS = 2, 3, 4, 5, 6
_EVENTS: Final = 4
_CHUNK: Final = 200_000
_HEAD_BYTES: Final = 1 << 16

Span = tuple[int, int]
Reported = Callable[[float], None]


@dataclass(frozen=True)
class _File:
    name: str
    data: memoryview
    buffer: Buffer
    progress: Reported

    def parsed(self, kind: str, span: Span) -> Any:
        return message_classes()[kind].FromString(self.data[span[0] : span[1]].tobytes())


def read_xplane(path: Path, progress: Reported) -> RawCapture:
    """Read the device planes of a capture.

    Args:
        path: the file.
        progress: told how much of 1 is read.

    Raises:
        MisuseError: the file is no XSpace, or is damaged.
    """
    if not path.stat().st_size:
        raise corrupt(path.name, b"")
    with path.open("rb") as stream:
        # Closed when the last view of it is gone, which an error's traceback may hold.
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    data = memoryview(mapped)
    try:
        return _space(_File(path.name, data, np.frombuffer(data, np.uint8), progress))
    except (WireError, message.DecodeError) as error:
        raise corrupt(path.name, bytes(data[: 1 << 20])) from error


def _space(file: _File) -> RawCapture:
    cores: list[CoreEvents] = []
    device = Device()
    flags: dict[str, str] = {"custom-call-tracing": "off"}
    versions: dict[str, str] = {}
    planes: list[Span] = []
    warnings: list[str] = []
    for number, begin, end in spans_of(file.data, 0, len(file.data)):
        if number == _PLANE:
            planes.append((begin, end))
        elif number in (_ERRORS, _WARNINGS):
            warnings.append(f"the profiler reports: {text(bytes(file.data[begin:end]))[:300]}")
    if not planes:
        raise WireError("no planes")
    for span in planes:
        plane = _Plane.of(file, span)
        core = core_number(plane.name)
        if core is None:
            stats = plane.stats()
            versions.update({name: str(stats[name]) for name in _VERSIONS if name in stats})
        else:
            if any(traces_kernels(lane) for lane, _ in plane.lines):
                flags["custom-call-tracing"] = "on"
            cores.append(_core(core, plane))
            if not device.kind:
                device = _device(plane.stats())
        file.progress(span[1] / len(file.data))
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


@dataclass(frozen=True)
class _Plane:
    """Where the parts of a plane lie; nothing of them is decoded yet but names of lanes."""

    file: _File
    name: str
    lines: tuple[tuple[str, Span], ...]
    event_metadata: tuple[Span, ...]
    stat_metadata: tuple[Span, ...]
    own_stats: tuple[Span, ...]

    @classmethod
    def of(cls, file: _File, span: Span) -> _Plane:
        """Look at the fields of a plane."""
        found: dict[int, list[Span]] = {number: [] for number in range(_NAME, _STATS + 1)}
        for number, begin, end in spans_of(file.data, *span):
            if number in found:
                found[number].append((begin, end))
        name = text(bytes(file.data[found[_NAME][-1][0] : found[_NAME][-1][1]])) if found[_NAME] else ""
        lines = tuple((_lane(file, line), line) for line in found[_LINES]) if core_number(name) is not None else ()
        return cls(file, name, lines, tuple(found[_EVENT_METADATA]), tuple(found[_STAT_METADATA]), tuple(found[_STATS]))

    def stat_names(self) -> dict[int, str]:
        """Return names of stats, and the texts stats refer to, by id."""
        names: dict[int, str] = {}
        for span in self.stat_metadata:
            entry = self.file.parsed("StatEntry", span)
            names[entry.key] = text(cast("StatMetadata", entry.value).name)
        return names

    def stats(self) -> dict[str, StatValue]:
        """Return the plane's own stats by name."""
        if not self.own_stats:
            return {}
        return stat_values(
            [cast("Stat", self.file.parsed("XStat", span)) for span in self.own_stats], self.stat_names()
        )

    def metadata(self) -> dict[int, Span]:
        """Return where each event metadata's entry lies, by id."""
        starts = np.array([span[0] for span in self.event_metadata], np.int64)
        stops = np.array([span[1] for span in self.event_metadata], np.int64)
        keys = np.zeros(len(starts), np.int64)
        for part in fields(self.file.buffer, starts, stops):
            owners, values, _ = part.pick(1, VARINT)
            keys[owners] = values
        return dict(zip(keys.tolist(), self.event_metadata, strict=True))


def _lane(file: _File, line: Span) -> str:
    """Return a line's name; only the fields before its events are looked at."""
    name = shown = b""
    for number, begin, end in spans_of(file.data, *line):
        if number == _NAME:
            name = bytes(file.data[begin : min(end, begin + _HEAD_BYTES)])
            break
        if number == 11:
            shown = bytes(file.data[begin : min(end, begin + _HEAD_BYTES)])
    return text(name or shown)


def _core(core: int, plane: _Plane) -> CoreEvents:
    names = plane.stat_names()
    reader = _LaneReader(plane, plane.metadata(), {name: key for key, name in names.items()}, names)
    modules: list[Events] = []
    ops: list[Events] = []
    regions: dict[str, list[Events]] = {}
    wanted = [(lane, span) for lane, span in plane.lines if lane in {MODULES, OPS} or is_region(lane)]
    reader.origin_ns = min((_timestamp(plane.file, span) for _, span in wanted), default=0)
    for lane, span in wanted:
        if lane == MODULES:
            modules.append(reader.read(span, shown=False))
        elif lane == OPS:
            ops.append(reader.read(span, shown=True, with_facts=True))
        else:
            regions.setdefault(lane, []).append(reader.read(span, shown=True))
    found = {lane: joined(parts) for lane, parts in regions.items()}
    return CoreEvents(core, joined(modules), joined(ops), reader.facts, found)


def _timestamp(file: _File, line: Span) -> int:
    starts, stops = np.array([line[0]], np.int64), np.array([line[1]], np.int64)
    for part in fields(file.buffer, starts, stops):
        _, values, _ = part.pick(3, VARINT)
        if len(values):
            return int(values[0])
        if int(part.numbers[0]) == _EVENTS:
            return 0  # fields are written in order of their numbers
    return 0


class _LaneReader:
    """Reads lanes of one plane; metadata is decoded when an event first uses it."""

    def __init__(
        self, plane: _Plane, metadata: Mapping[int, Span], ids: Mapping[str, int], names: Mapping[int, str]
    ) -> None:
        self.facts: list[OpFacts] = [OpFacts()]
        self.origin_ns = 0
        self._plane = plane
        self._metadata = metadata
        self._offset_id = ids.get("device_offset_ps", -1)
        self._duration_id = ids.get("device_duration_ps", -1)
        self._names = names
        self._decoded: dict[int, EventMetadata] = {}
        self._places: dict[int, int] = {}

    def read(self, line: Span, *, shown: bool, with_facts: bool = False) -> Events:
        """Read a lane.

        Args:
            line: where it lies.
            shown: name events by their display name where they have one.
            with_facts: also say what each event's instruction is.
        """
        parts = [self._chunk(starts, stops) for starts, stops in self._chunks(line)]
        if not parts:
            return no_events()
        keys, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        base = (_timestamp(self._plane.file, line) - self.origin_ns) * 1000
        offsets, lengths, starts, device, timed = columns
        check_times(base, base, self._plane.file.name)
        for column in (offsets, lengths, starts, device):
            check_times(int(column.min()), int(column.max()), self._plane.file.name)
        used, names = np.unique(keys, return_inverse=True)
        labels = [self._label(key, shown=shown) for key in used.tolist()]
        facts = np.zeros(len(keys), np.int64)
        if with_facts:
            facts = np.array([self._place(key) for key in used.tolist()], np.int64)[names]
        seen = timed == 3
        zero = np.zeros(len(keys), np.int64)
        return Events(
            labels=labels,
            names=names.astype(np.int64),
            host_start=offsets + base,
            host_ps=lengths,
            device_start=np.where(seen, starts, zero),
            device_ps=np.where(seen, device, zero),
            timed=seen,
            facts=facts,
        )

    def _chunks(self, line: Span) -> Iterator[tuple[Positions, Positions]]:
        starts: list[int] = []
        stops: list[int] = []
        file = self._plane.file
        for number, begin, end in spans_of(file.data, *line):
            if number != _EVENTS:
                continue
            starts.append(begin)
            stops.append(end)
            if len(starts) == _CHUNK:
                file.progress(end / len(file.data))
                yield np.array(starts, np.int64), np.array(stops, np.int64)
                starts, stops = [], []
        if starts:
            yield np.array(starts, np.int64), np.array(stops, np.int64)

    def _chunk(self, starts: Positions, stops: Positions) -> tuple[Column, ...]:
        """Return metadata ids, host offsets and lengths, device starts and lengths, and which of the last two exist."""
        buffer = self._plane.file.buffer
        count = len(starts)
        keys, offsets, lengths, device_starts, device_lengths, timed = (np.zeros(count, np.int64) for _ in range(6))
        for part in fields(buffer, starts, stops):
            for number, column in ((1, keys), (2, offsets), (3, lengths)):
                owners, values, _ = part.pick(number, VARINT)
                column[owners] = values
            owners, begins, ends = part.pick(4, SPAN)
            if len(owners):
                self._stats(owners, begins, ends, (device_starts, device_lengths, timed))
        return keys, offsets, lengths, device_starts, device_lengths, timed

    def _stats(
        self, owners: Positions, begins: Positions, ends: Positions, into: tuple[Column, Column, Column]
    ) -> None:
        kinds = np.full(len(owners), -2, np.int64)
        numbers = np.zeros(len(owners), np.int64)
        for part in fields(self._plane.file.buffer, begins, ends):
            at, values, _ = part.pick(1, VARINT)
            kinds[at] = values
            for number in (3, 4):  # unsigned and signed
                at, values, _ = part.pick(number, VARINT)
                numbers[at] = values
        for kind, column, bit in ((self._offset_id, into[0], 1), (self._duration_id, into[1], 2)):
            chosen = kinds == kind
            column[owners[chosen]] = numbers[chosen]
            into[2][owners[chosen]] |= bit

    def _metadatum(self, key: int) -> EventMetadata | None:
        if key not in self._decoded and key in self._metadata:
            entry = self._plane.file.parsed("EventEntry", self._metadata[key])
            self._decoded[key] = cast("EventMetadata", entry.value)
        return self._decoded.get(key)

    def _label(self, key: int, *, shown: bool) -> str:
        found = self._metadatum(key)
        if found is None:
            return f"event {key}"
        return text((found.display_name or found.name) if shown else found.name)

    def _place(self, key: int) -> int:
        if key not in self._places:
            found = self._metadatum(key)
            self._places[key] = len(self.facts)
            self.facts.append(_facts(found, self._names) if found is not None else OpFacts())
        return self._places[key]


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
        flops=_whole(flops),
        bytes=_whole(accessed),
    )


def _whole(value: StatValue | None) -> int | None:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else None
