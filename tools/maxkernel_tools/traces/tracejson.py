"""Reads ``*.trace.json.gz`` (or plain ``.json``) into raw events. Owns the trace-event format and its cap.

The profiler drops events beyond about a million when it writes this file, and says so nowhere. From 900,000 on the
file is taken for truncated and no total is given.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.traces.building import CoreEvents, OpFacts
from maxkernel_tools.traces.events import Gathering
from maxkernel_tools.traces.lanes import MODULES, OPS, core_number, is_region, traces_kernels
from maxkernel_tools.traces.profile import Device
from maxkernel_tools.traces.raw import RawCapture

MAX_EVENTS: Final = 900_000
_EVENT_KEY: Final = b'"ph":'
_CHUNK: Final = 1 << 20
_MOST_US: Final = 1e13
_BEYOND_PS: Final = 1 << 62
_Json = dict[str, Any]


@dataclass(frozen=True)
class Capped:
    """A file of so many events that some are missing; it was counted, not parsed."""

    events: int


def load_json(path: Path) -> object:
    """Return the JSON a file holds, gzipped or plain; :class:`Capped` where it holds too many events to be whole.

    Raises:
        MisuseError: it does not unpack or parse.
    """
    whole = bytearray()
    found, tail = 0, b""
    try:
        for chunk in _unpacked(path):
            # Every event has this key; as part of a text its quotes would be escaped.
            seen = tail + chunk
            found += seen.count(_EVENT_KEY)
            tail = seen[-len(_EVENT_KEY) + 1 :]
            if found < MAX_EVENTS:
                whole += chunk
            elif whole:
                whole = bytearray()
        return Capped(found) if found >= MAX_EVENTS else json.loads(whole)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise MisuseError(
            f"The capture {path.name} cannot be read: {error}.",
            allowed="an intact *.trace.json.gz of jax.profiler.",
            action="Copy the file again, or capture again.",
        ) from error


def _unpacked(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        source = gzip.GzipFile(fileobj=stream) if packed else stream
        while chunk := source.read(_CHUNK):
            yield chunk


def read_trace_json(path: Path, content: object) -> RawCapture:
    """Read the device processes of a trace.

    Raises:
        MisuseError: there is no list of events in it.
    """
    if isinstance(content, Capped):
        return _capped(content.events)
    listed = cast("_Json", content).get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(listed, list):
        raise MisuseError(
            f"The file {path.name} holds no traceEvents.",
            allowed="a *.trace.json.gz of jax.profiler, an *.xplane.pb, or a folder with one of them.",
            action="Give the capture itself.",
        )
    events = [cast("_Json", one) for one in cast("list[object]", listed) if isinstance(one, dict)]
    if len(events) >= MAX_EVENTS:
        return _capped(len(events))
    return _fill(RawCapture("trace-json", [], Device(), flags={"custom-call-tracing": "off"}), events, path.name)


def _capped(events: int) -> RawCapture:
    warning = (
        f"{events} events: the profiler caps this format near a million, so some are missing and nothing is summed; "
        "use the *.xplane.pb beside it"
    )
    return RawCapture("trace-json", [], Device(), warnings=[warning], truncated=True)


def _fill(capture: RawCapture, events: list[_Json], file: str) -> RawCapture:
    processes: dict[object, str] = {}
    lanes: dict[tuple[object, object], str] = {}
    for event in events:
        if event.get("ph") == "M":
            name = str(_args(event).get("name", ""))
            if event.get("name") == "process_name":
                processes[_key(event.get("pid"))] = name
            elif event.get("name") == "thread_name":
                lanes[_key(event.get("pid")), _key(event.get("tid"))] = name
    cores = {pid: core for pid, process in processes.items() if (core := core_number(process)) is not None}
    modules = {pid: Gathering() for pid in cores}
    ops = {pid: Gathering() for pid in cores}
    facts: dict[object, list[OpFacts]] = {pid: [] for pid in cores}
    regions: dict[object, dict[str, Gathering]] = {pid: {} for pid in cores}
    for event in events:
        pid = _key(event.get("pid"))
        if event.get("ph") != "X" or pid not in cores:
            continue
        lane = lanes.get((pid, _key(event.get("tid"))), "")
        if lane == MODULES:
            _add(modules[pid], event)
        elif lane == OPS:
            facts[pid].append(_facts(_args(event)))
            _add(ops[pid], event, len(facts[pid]) - 1)
        elif lane and is_region(lane):
            _add(regions[pid].setdefault(lane, Gathering()), event)
            if traces_kernels(lane):
                capture.flags["custom-call-tracing"] = "on"
    for pid, core in sorted(cores.items(), key=lambda item: item[1]):
        capture.cores.append(
            CoreEvents(
                core,
                modules[pid].events(file),
                ops[pid].events(file),
                facts[pid] or [OpFacts()],
                {lane: gathered.events(file) for lane, gathered in regions[pid].items()},
            )
        )
    return capture


def _args(event: _Json) -> Mapping[str, object]:
    args = event.get("args")
    return cast("Mapping[str, object]", args) if isinstance(args, dict) else {}


def _add(gathered: Gathering, event: _Json, facts: int = 0) -> None:
    args = _args(event)
    host = _picoseconds(event.get("ts")), _picoseconds(event.get("dur"))
    device = _integer(args.get("device_offset_ps")), _integer(args.get("device_duration_ps"))
    gathered.add(gathered.label(str(event.get("name", ""))), host, device, facts)


def _picoseconds(us: object) -> int:
    """Return µs as ps; 0 for what is no number, and too much for what no capture can hold."""
    if not isinstance(us, int | float) or us != us:  # noqa: PLR0124 - not a number is not itself
        return 0
    return round(us * 1e6) if abs(us) < _MOST_US else _BEYOND_PS


def _key(value: object) -> int | str | None:
    """Return what may number a process or thread; anything else numbers none."""
    return value if isinstance(value, int | str) else None


def _integer(value: object) -> int | None:
    """Read a number the profiler writes as text."""
    try:
        return int(str(value)) if value is not None else None
    except ValueError:
        return None


def _facts(args: Mapping[str, object]) -> OpFacts:
    def told(name: str) -> str:
        return str(args.get(name, ""))

    return OpFacts(
        scope=told("tf_op").rstrip(":"),
        category=told("hlo_category"),
        hlo=told("long_name"),
        shape=told("shape_with_layout"),
        source=told("source"),
        program_id=told("program_id"),
        flops=_integer(args.get("model_flops", args.get("flops"))),
        bytes=_integer(args.get("bytes_accessed")),
    )
