"""Reads ``*.trace.json.gz`` (or plain ``.json``) into raw events. Owns the trace-event format and its cap.

The profiler drops events beyond about a million when it writes this file, and says so nowhere. From 900,000 on the
file is taken for truncated and no total is given.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.traces.building import CoreEvents, OpFacts, RawEvent
from maxkernel_tools.traces.lanes import MODULES, OPS, core_number, is_region, traces_kernels
from maxkernel_tools.traces.profile import Device
from maxkernel_tools.traces.raw import RawCapture

MAX_EVENTS: Final = 900_000
_Json = dict[str, Any]


def load_json(path: Path, data: bytes) -> object:
    """Return the JSON a file holds, gzipped or plain.

    Raises:
        MisuseError: it does not unpack or parse.
    """
    try:
        return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise MisuseError(
            f"The capture {path.name} cannot be read: {error}.",
            allowed="an intact *.trace.json.gz of jax.profiler.",
            action="Copy the file again, or capture again.",
        ) from error


def read_trace_json(path: Path, content: object) -> RawCapture:
    """Read the device processes of a trace.

    Raises:
        MisuseError: there is no list of events in it.
    """
    listed = cast("_Json", content).get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(listed, list):
        raise MisuseError(
            f"The file {path.name} holds no traceEvents.",
            allowed="a *.trace.json.gz of jax.profiler, an *.xplane.pb, or a folder with one of them.",
            action="Give the capture itself.",
        )
    events = [cast("_Json", one) for one in cast("list[object]", listed) if isinstance(one, dict)]
    capture = RawCapture("trace-json", [], Device(), flags={"custom-call-tracing": "off"})
    if len(events) >= MAX_EVENTS:
        capture.truncated = True
        capture.warnings.append(
            f"{len(events)} events: the profiler caps this format near a million, so some are missing and nothing is "
            "summed; use the *.xplane.pb beside it"
        )
        return capture
    return _fill(capture, events)


def _fill(capture: RawCapture, events: list[_Json]) -> RawCapture:
    processes: dict[object, str] = {}
    lanes: dict[tuple[object, object], str] = {}
    for event in events:
        if event.get("ph") == "M":
            name = str(_args(event).get("name", ""))
            if event.get("name") == "process_name":
                processes[event.get("pid")] = name
            elif event.get("name") == "thread_name":
                lanes[event.get("pid"), event.get("tid")] = name
    cores: dict[object, CoreEvents] = {}
    for pid, process in processes.items():
        number = core_number(process)
        if number is not None:
            cores[pid] = CoreEvents(number, [], [], [], {})
    facts: dict[object, list[OpFacts]] = {pid: [] for pid in cores}
    regions: dict[object, dict[str, list[RawEvent]]] = {pid: {} for pid in cores}
    for event in events:
        pid = event.get("pid")
        if event.get("ph") != "X" or pid not in cores:
            continue
        lane = lanes.get((pid, event.get("tid")), "")
        if lane == MODULES:
            cores[pid].modules.append(_event(event))
        elif lane == OPS:
            facts[pid].append(_facts(_args(event)))
            cores[pid].ops.append(_event(event, len(facts[pid]) - 1))
        elif lane and is_region(lane):
            regions[pid].setdefault(lane, []).append(_event(event))
            if traces_kernels(lane):
                capture.flags["custom-call-tracing"] = "on"
    for pid, core in cores.items():
        core.facts = facts[pid]
        core.regions = regions[pid]
    capture.cores.extend(sorted(cores.values(), key=lambda core: core.core))
    return capture


def _args(event: _Json) -> Mapping[str, object]:
    args = event.get("args")
    return cast("Mapping[str, object]", args) if isinstance(args, dict) else {}


def _event(event: _Json, facts: int = 0) -> RawEvent:
    args = _args(event)
    return RawEvent(
        name=str(event.get("name", "")),
        host_start=round(float(event.get("ts") or 0) * 1e6),
        host_ps=round(float(event.get("dur") or 0) * 1e6),
        device_start=_integer(args.get("device_offset_ps")),
        device_ps=_integer(args.get("device_duration_ps")),
        facts=facts,
    )


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
