"""Many messages at once say what protobuf says of each, and anything else is an error, never a crash."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.traces.wire import SPAN, VARINT, WireError, fields, spans_of, varints
from maxkernel_tools.traces.xplane import read_xplane
from maxkernel_tools.traces.xspace import message_classes
from tests.traces.captures import Call, Core, write_xspace

numbers = st.integers(-(2**63), 2**63 - 1)


def quiet(done: float) -> None:
    """Nobody listens."""


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(numbers, numbers, numbers, st.lists(st.tuples(numbers, numbers), max_size=3)), max_size=8))
def test_events_are_read_as_protobuf_wrote_them(events: list[tuple[int, int, int, list[tuple[int, int]]]]) -> None:
    line: Any = message_classes()["XLine"](id=3, name=b"XLA Ops", timestamp_ns=5)
    for key, offset, length, stats in events:
        made = line.events.add(metadata_id=key, offset_ps=offset, duration_ps=length)
        for kind, value in stats:
            made.stats.add(metadata_id=kind, int64_value=value)
    data = line.SerializeToString()
    found = [(begin, end) for number, begin, end in spans_of(data, 0, len(data)) if number == 4]
    columns = {number: np.zeros(len(found), np.int64) for number in (1, 2, 3)}
    spans = np.zeros(len(found), np.int64)
    starts, stops = (np.array([span[side] for span in found], np.int64) for side in (0, 1))
    for part in fields(np.frombuffer(data, np.uint8), starts, stops):
        for number, column in columns.items():
            owners, values, _ = part.pick(number, VARINT)
            column[owners] = values
        owners, _, _ = part.pick(4, SPAN)
        spans[owners] += 1
    assert [*zip(*(column.tolist() for column in columns.values()), spans.tolist(), strict=True)] == [
        (key, offset, length, len(stats)) for key, offset, length, stats in events
    ]


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=80))
def test_any_bytes_are_fields_or_an_error(data: bytes) -> None:
    buffer = np.frombuffer(data, np.uint8)
    with contextlib.suppress(WireError):
        list(spans_of(data, 0, len(data)))
    with contextlib.suppress(WireError):
        list(fields(buffer, np.array([0], np.int64), np.array([len(data)], np.int64)))


def test_a_number_must_end() -> None:
    with pytest.raises(WireError, match="past the end"):
        varints(np.full(12, 0x80, np.uint8), np.array([0], np.int64))


def small(path: Path) -> bytes:
    core = Core([("jit_f(1)", 0, 1_000)], [Call("fusion.1", 10, 100, scope="jit(f)/add"), Call("copy.2", 200, 5)])
    core.lanes = {"LLO Ops": [("vmatmul", 20, 9)]}
    return write_xspace(path, {0: core, 1: core}).read_bytes()


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_capture_reads_or_is_refused(tmp_path: Path, at: float, byte: int, cut: bool) -> None:
    path = tmp_path / "a.xplane.pb"
    data = bytearray(small(path))
    place = int(at * len(data))
    if cut:
        del data[place:]
    else:
        data[place] = byte
    path.write_bytes(data)
    with contextlib.suppress(MisuseError):
        read_xplane(path, quiet)
