"""Synthetic captures: the same events as a trace JSON or as an XSpace."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maxkernel_tools.traces.xspace import message_classes


@dataclass
class Call:
    """One op call on the device's clock; the host's clock is warped by ``warp``."""

    name: str
    start: int
    ps: int
    category: str = "loop fusion"
    scope: str = ""
    hlo: str = ""
    source: str = ""
    flops: int | None = None
    warp: int = 0
    device_clock: bool = True


@dataclass
class Core:
    """What one core did: (name, start, ps) of modules, op calls, and other lanes as (name, start, ps)."""

    modules: list[tuple[str, int, int]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    lanes: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)


def kernel(name: str, starts: Sequence[int], lengths: Sequence[int], scope: str = "jit(f)/pallas_call") -> list[Call]:
    """Calls of one Pallas kernel, each an instruction of its own, as unrolled layers are."""
    hlo = f'%{name} = bf16[8,128]{{1,0}} custom-call(bf16[8,128]{{1,0}} %p), custom_call_target="tpu_custom_call"'
    return [
        Call(f"{name}.{at}", start, length, "custom-call", scope, hlo)
        for at, (start, length) in enumerate(zip(starts, lengths, strict=True))
    ]


def _shown(start: int, ps: int, device_clock: bool) -> dict[str, str]:
    return {"device_offset_ps": str(start), "device_duration_ps": str(ps)} if device_clock else {}


def trace_events(cores: dict[int, Core], first_pid: int = 3) -> list[dict[str, Any]]:
    """Return the events of a trace JSON."""
    events: list[dict[str, Any]] = []
    for number, core in cores.items():
        pid = first_pid + number
        events.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": f"/device:TPU:{number}"}})
        for tid, lane in enumerate(("XLA Modules", "XLA Ops", *core.lanes), start=2):
            events.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": lane}})
        for name, start, ps in core.modules:
            events.append(_x(pid, 2, (name, start, ps), _shown(start, ps, True)))
        for call in core.calls:
            args = {
                **_shown(call.start, call.ps, call.device_clock),
                "hlo_category": call.category,
                "long_name": call.hlo,
                **({"tf_op": call.scope + ":"} if call.scope else {}),
                **({"source": call.source} if call.source else {}),
                **({"model_flops": str(call.flops)} if call.flops is not None else {}),
            }
            events.append(_x(pid, 3, (call.name, call.start, call.ps + call.warp), args))
        for tid, (_, spans) in enumerate(core.lanes.items(), start=4):
            events.extend(_x(pid, tid, (name, start, ps), _shown(start, ps, True)) for name, start, ps in spans)
    return events


def _x(pid: int, tid: int, span: tuple[str, int, int], args: dict[str, str]) -> dict[str, Any]:
    name, start, ps = span
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": start / 1e6, "dur": ps / 1e6, "args": args}


def write_trace(path: Path, events: list[dict[str, Any]]) -> Path:
    """Write events as ``*.trace.json.gz``."""
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode(), 1))
    return path


def write_xspace(path: Path, cores: dict[int, Core], kind: str = "TPU v6 lite", peak_tflops: float = 918.0) -> Path:
    """Write the same as an XSpace."""
    space: Any = message_classes()["XSpace"]()
    for number, core in cores.items():
        plane = space.planes.add(name=f"/device:TPU:{number}".encode())
        known: dict[bytes, int] = {}

        def stat_id(name: str, plane: Any = plane, known: dict[bytes, int] = known) -> int:
            key = name.encode()
            if key not in known:
                known[key] = len(known) + 1
                entry = plane.stat_metadata.add(key=known[key])
                entry.value.name = key
            return known[key]

        plane.stats.add(metadata_id=stat_id("device_type_string"), str_value=kind.encode())
        plane.stats.add(metadata_id=stat_id("peak_teraflops_per_second"), double_value=peak_tflops)
        modules = plane.lines.add(name=b"XLA Modules")
        ops = plane.lines.add(name=b"XLA Ops")
        ids: dict[str, int] = {}

        def event(line: Any, span: tuple[str, int, int], plane: Any = plane, ids: dict[str, int] = ids) -> Any:
            name, start, ps = span
            if name not in ids:
                ids[name] = len(ids) + 1
                entry = plane.event_metadata.add(key=ids[name])
                entry.value.name = name.encode("utf-8", "surrogateescape")
            return line.events.add(metadata_id=ids[name], offset_ps=start, duration_ps=ps)

        for name, start, ps in core.modules:
            event(modules, (name, start, ps))
        for call in core.calls:
            fresh = call.name not in ids
            made = event(ops, (call.name, call.start, call.ps + call.warp))
            if call.device_clock:
                made.stats.add(metadata_id=stat_id("device_offset_ps"), int64_value=call.start)
                made.stats.add(metadata_id=stat_id("device_duration_ps"), int64_value=call.ps)
            if fresh:
                metadata = plane.event_metadata[-1].value
                metadata.stats.add(metadata_id=stat_id("hlo_category"), str_value=call.category.encode())
                metadata.stats.add(metadata_id=stat_id("tf_op"), ref_value=stat_id(call.scope + ":"))
                if call.flops is not None:
                    metadata.stats.add(metadata_id=stat_id("model_flops"), int64_value=call.flops)
        for lane, spans in core.lanes.items():
            line = plane.lines.add(name=lane.encode())
            for name, start, ps in spans:
                event(line, (name, start, ps))
    path.write_bytes(space.SerializeToString())
    return path
