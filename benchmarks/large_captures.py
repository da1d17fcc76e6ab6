"""How long and how much memory a diff of two large captures takes.

    python benchmarks/large_captures.py [--events 1000000] [--host-mb 0] [--folder DIR]

Makes two synthetic ``*.xplane.pb`` of so many device events (and a host plane of so many MB, which a reader has no need
to look at), compares them in a process of its own, and prints seconds and peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from maxkernel_tools.diffing.comparing import compare_files
from maxkernel_tools.traces.xspace import message_classes

KINDS = 400
_RUNS = 50
_STARTS, _LENGTHS, _OPS = 10, 11, "XLA Ops"


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _padded(values: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """Encode numbers as varints of one length: longer than need be, and legal."""
    columns = [(values >> (7 * at) & 0x7F) | (0x80 if at < size - 1 else 0) for at in range(size)]
    return np.stack(columns, axis=1).astype(np.uint8)


def _events(count: int, seed: int, slower: float) -> tuple[bytes, int]:
    """Return so many encoded events of a lane, and where the last one ends in ps."""
    random = np.random.default_rng(seed)
    kinds = np.arange(count) % KINDS + 1
    lengths = (20_000 + 997 * (kinds % 89)) * (1 + random.normal(0, 0.004, count))
    lengths = np.where(kinds == 7, lengths * slower, lengths).astype(np.int64)
    starts = np.cumsum(lengths + 40) - lengths
    host = _padded(starts, 7), _padded(lengths, 4)

    def fixed(*data: int) -> np.ndarray[Any, Any]:
        return np.tile(np.array(data, np.uint8), (count, 1))

    start = [fixed(0x22, 10, 0x08, _STARTS, 0x20), _padded(starts, 7)]
    length = [fixed(0x22, 7, 0x08, _LENGTHS, 0x20), _padded(lengths, 4)]
    body = [fixed(0x08), _padded(kinds, 2), fixed(0x10), host[0], fixed(0x18), host[1], *start, *length]
    size = sum(part.shape[1] for part in body)
    return np.concatenate([fixed(0x22, size), *body], axis=1).tobytes(), int(starts[-1] + lengths[-1])


def write_capture(path: Path, events: int, *, seed: int, slower: float = 1.0, host_mb: int = 0) -> Path:
    """Write a capture of one core; op 7 is ``slower``."""
    plane: Any = message_classes()["XPlane"](name=b"/device:TPU:0")
    for key, name in ((1, "device_type_string"), (2, "hlo_category"), (3, "tf_op")):
        plane.stat_metadata.add(key=key).value.name = name.encode()
    plane.stat_metadata.add(key=_STARTS).value.name = b"device_offset_ps"
    plane.stat_metadata.add(key=_LENGTHS).value.name = b"device_duration_ps"
    plane.stats.add(metadata_id=1, str_value=b"TPU v6 lite")
    for kind in range(1, KINDS + 1):
        value = plane.event_metadata.add(key=kind).value
        value.name = f"%fusion.{kind} = f32[8,128]{{1,0}} fusion(f32[8,128]{{1,0}} %p)".encode()
        value.display_name = f"fusion.{kind}".encode()
        value.stats.add(metadata_id=2, str_value=b"loop fusion")
        value.stats.add(metadata_id=3, str_value=f"jit(f)/layer{kind % 40}/add".encode())
    plane.event_metadata.add(key=KINDS + 1).value.name = b"jit_f(1)"
    encoded, end = _events(events, seed, slower)
    modules = plane.lines.add(name=b"XLA Modules")
    for run in range(_RUNS):
        one = modules.events.add(metadata_id=KINDS + 1, offset_ps=run * end // _RUNS, duration_ps=end // _RUNS)
        one.stats.add(metadata_id=_STARTS, int64_value=run * end // _RUNS)
        one.stats.add(metadata_id=_LENGTHS, int64_value=end // _RUNS)
    line = b"\x12" + _varint(len(_OPS)) + _OPS.encode() + encoded
    body = plane.SerializeToString() + b"\x1a" + _varint(len(line))
    with path.open("wb") as stream:
        for _ in range(host_mb):
            name = b"\x12\x09/host:CPU"
            filler = name + b"\x1a" + _varint(1 << 20) + bytes([0x2A]) + _varint((1 << 20) - 4) + bytes((1 << 20) - 4)
            stream.write(b"\x0a" + _varint(len(filler)) + filler)
        stream.write(b"\x0a" + _varint(len(body) + len(line)) + body + line)
    return path


def measure(baseline: Path, candidate: Path) -> dict[str, Any]:
    """Compare in a fresh process; return its seconds, peak memory in MB and what it found."""
    done = subprocess.run(
        [sys.executable, __file__, "--compare", str(baseline), str(candidate)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=600,
    )
    return json.loads(done.stdout)


def _compare(baseline: Path, candidate: Path) -> None:
    began, used = time.monotonic(), time.process_time()
    with tempfile.TemporaryDirectory() as name:
        compare_files({"baseline": str(baseline), "candidate": str(candidate)}, Path(name), lambda _done, _said: None)
        result = json.loads((Path(name) / "result.json").read_text())
    print(
        json.dumps(
            {
                "seconds": round(time.monotonic() - began, 2),
                "processor_s": round(time.process_time() - used, 2),
                "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
                "summary": result["summary"],
                "slower": [row["name"] for row in result["rows"] if row["verdict"] == "slower"],
                "rows": result["rows_total"],
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--host-mb", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--compare", nargs=2, type=Path)
    options = parser.parse_args()
    if options.compare:
        _compare(*options.compare)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        pair = [
            write_capture(
                Path(name) / f"{side}.xplane.pb", options.events, seed=at, slower=1 + 0.05 * at, host_mb=options.host_mb
            )
            for at, side in enumerate(("baseline", "candidate"))
        ]
        print(f"{options.events:,} events a side, {pair[0].stat().st_size / 1e6:.0f} MB a file")
        for key, value in measure(*pair).items():
            print(f"{key}: {value}")


if __name__ == "__main__":
    main()
