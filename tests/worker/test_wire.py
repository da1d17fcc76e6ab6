"""Frames, arrays, requests and replies: round trips, and refusal of everything malformed."""

from __future__ import annotations

import json
import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import (
    CaseReply,
    ChildReport,
    CompileReply,
    CompileRequest,
    Frame,
    InterpretCase,
    InterpretOptions,
    InterpretRequest,
    RawError,
    ReferenceReply,
    ReferenceRequest,
    TraceReply,
    TraceRequest,
)
from maxkernel_tools.wire import Limits, Message, WireError, encode, reading
from maxkernel_tools.wire.arrays import BlobReader, BlobWriter
from maxkernel_tools.wire.replies import (
    decode_case,
    decode_compile_reply,
    decode_done,
    decode_reference_reply,
    decode_trace_reply,
    encode_case,
    encode_compile_reply,
    encode_done,
    encode_reference_reply,
    encode_trace_reply,
)
from maxkernel_tools.wire.requests import decode_request, encode_request

CHILD = ChildReport(ending="completed")


def through(message: Message, nonce: str | None = None) -> Message:
    """Send ``message`` through bytes."""
    return parse(b"".join(bytes(buffer) for buffer in encode(message)), nonce)


def parse(data: bytes, nonce: str | None = None, limits: Limits | None = None) -> Message:
    parser = reading(limits or Limits(), nonce)
    size = next(parser)
    try:
        while True:
            piece, data = data[:size], data[size:]
            if len(piece) < size:
                raise EOFError
            size = parser.send(piece)
    except StopIteration as done:
        assert not data
        return done.value


def same(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array(3.5, dtype=np.float64),
    np.zeros((0, 4), dtype=np.int32),
    np.array([1.5, np.nan, -np.inf]).astype(ml_dtypes.bfloat16),
    np.array([1, 2], dtype=ml_dtypes.int4),
    np.array([True, False]),
    np.arange(24, dtype=np.int16).reshape(2, 3, 4).transpose(2, 0, 1),
    np.ones(3, dtype=ml_dtypes.float8_e4m3fn),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_come_back_bit_for_bit(array: np.ndarray[Any, Any]) -> None:
    reply = decode_case(through(encode_case(CaseReply(outputs=(array,), exported=b""), "n")))
    assert same(reply.outputs[0], array)
    assert reply.exported == b""


def test_arrays_of_objects_are_not_sent() -> None:
    with pytest.raises(WireError, match="object"):
        BlobWriter().array(np.array([object()]))


@pytest.mark.parametrize(
    "request_",
    [
        TraceRequest(
            kernel=KernelSource(text="x = '\u00e9'", file="a/b.py", import_roots=("/r",)),
            inputs=(ArraySpec.parse("bf16[2,3]"), ArraySpec.parse("s32[]")),
            params={"flag": True, "n": 3, "f": 0.5, "s": "x"},
            targets=(Target.V6E, Target.TPU7X),
            is_reference=True,
            timeout_s=1.5,
        ),
        CompileRequest(exported=b"\x00\xff" * 9, target=Target.V4, options={"a": "b"}, dumps=False),
    ],
    ids=["trace", "compile"],
)
def test_plain_requests_come_back_equal(request_: TraceRequest | CompileRequest) -> None:
    back = decode_request(through(encode_request(request_, "n")))
    assert back == request_
    if isinstance(back, TraceRequest):
        assert [type(value) for value in back.params.values()] == [bool, int, float, str]


def test_requests_with_arrays_come_back_equal() -> None:
    options = InterpretOptions(detect_races=True, num_cores=2, random_seed=7)
    asked = InterpretRequest(
        kernel=KernelSource(text=""), cases=(InterpretCase(inputs=tuple(ARRAYS[:4]), options=options),), export=False
    )
    back = decode_request(through(encode_request(asked, "n")))
    assert isinstance(back, InterpretRequest)
    assert back.cases[0].options == options
    assert not back.export
    assert all(same(a, b) for a, b in zip(back.cases[0].inputs, ARRAYS[:4], strict=True))

    drawn = ReferenceRequest(source=KernelSource(text=""), seed=2**100, dims={"M": 4}, overrides={3: ARRAYS[0]})
    again = decode_request(through(encode_request(drawn, "n")))
    assert isinstance(again, ReferenceRequest)
    assert (again.seed, again.dims, list(again.overrides)) == (2**100, {"M": 4}, [3])
    assert same(again.overrides[3], ARRAYS[0])


def test_replies_come_back_equal() -> None:
    error = RawError("ValueError", "no", "lower", (Frame("kernel.py", 3, "f"),), (Frame("kernel.py", 4, "g"),))
    trace = TraceReply(
        child=CHILD,
        exported={Target.V6E: b"abc"},
        errors={Target.V4: error, None: error},
        facts={"grid": [1, None], "x": {"y": 1.5}},
        outputs=(ArraySpec.parse("f32[2]"),),
        declared_params={"b": 128},
        declared_space={"b": [128, 256]},
        imported_files={"m.py": "00"},
    )
    assert decode_trace_reply(through(encode_trace_reply(trace, "n")), CHILD) == trace
    assert decode_done(through(encode_done(error, "n"))) == error
    assert decode_done(through(encode_done(None, "n"))) is None
    compiled = CompileReply(
        child=CHILD, ok=True, compile_ms=3, memory={"a": 1}, cost={"flops": 2.5}, hlo_text="HloModule \u00e9"
    )
    assert decode_compile_reply(through(encode_compile_reply(compiled, "n")), CHILD, None) == compiled
    drawn = ReferenceReply(child=CHILD, inputs=(ARRAYS[0],), outputs=(ARRAYS[1],), tree="*", error=error)
    back = decode_reference_reply(through(encode_reference_reply(drawn, "n")), CHILD)
    assert same(back.inputs[0], ARRAYS[0])
    assert same(back.outputs[0], ARRAYS[1])
    assert (back.tree, back.error) == ("*", error)


def test_a_frame_without_the_nonce_is_refused() -> None:
    with pytest.raises(WireError, match="nonce"):
        through(encode_done(None, "forged"), nonce="real")


def frame(header: object, *, magic: bytes = b"MKF1", size: int | None = None) -> bytes:
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<4sI", magic, len(data) if size is None else size) + data


GOOD = {"kind": "done", "nonce": "n", "body": {}, "blobs": []}


@pytest.mark.parametrize(
    "data",
    [
        frame(GOOD, magic=b"HTTP"),
        frame(GOOD, size=2**31),
        frame(b"\xff\xfe not json"),
        frame(b"[" * 200_000),
        frame([]),
        frame({**GOOD, "kind": 3}),
        frame({**GOOD, "body": []}),
        frame({**GOOD, "blobs": [-1]}),
        frame({**GOOD, "blobs": [True]}),
        frame({**GOOD, "blobs": [2**40]}),
        frame({**GOOD, "blobs": [2**31, 2**31, 2**31]}),
        frame({**GOOD, "blobs": [0] * 5000}),
        frame({**GOOD, "blobs": None}),
    ],
    ids=range(13),
)
def test_malformed_frames_are_typed_errors(data: bytes) -> None:
    with pytest.raises(WireError):
        parse(data)


calm = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@calm
@given(st.binary(max_size=300))
def test_random_bytes_are_refused_or_incomplete(data: bytes) -> None:
    with pytest.raises((WireError, EOFError)):
        parse(data)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {"dtype": "object", "shape": [1], "blob": 0},
        {"dtype": "float32", "shape": [2], "blob": 0},
        {"dtype": "float32", "shape": [-1], "blob": 0},
        {"dtype": "float32", "shape": [True], "blob": 0},
        {"dtype": "float32", "shape": [1] * 40, "blob": 0},
        {"dtype": "float32", "shape": [1], "blob": 7},
        {"dtype": "float32", "shape": [1], "blob": "0"},
        {"dtype": "float32", "shape": [2**40, 2**40], "blob": 0},
    ],
    ids=range(10),
)
def test_arrays_that_do_not_add_up_are_refused(entry: object) -> None:
    with pytest.raises(WireError):
        BlobReader([b"1234"]).array(entry)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["outputs", "exported", "facts", "error", "errors", "races", "wall_ms", "tree", "inputs"])


@calm
@given(st.dictionaries(FIELDS, JSON), st.sampled_from(["case", "trace", "reference", "compile", "done"]))
def test_forged_bodies_are_refused(body: dict[str, Any], kind: str) -> None:
    message = Message(kind=kind, nonce="n", body=body, blobs=[b"1234"])
    decoders = {
        "case": decode_case,
        "trace": lambda message: decode_trace_reply(message, CHILD),
        "reference": lambda message: decode_reference_reply(message, CHILD),
        "compile": lambda message: decode_compile_reply(message, CHILD, None),
        "done": decode_done,
    }
    try:
        decoders[kind](message)
    except WireError:
        return
    assert kind == "done"
    assert body.get("error") is None
