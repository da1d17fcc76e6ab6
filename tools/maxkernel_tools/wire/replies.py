"""Replies of worker processes, to and from frames.

How the process ended is not theirs to say: the supervisor adds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.verdicts import SandboxReport
from maxkernel_tools.runtime import CaseReply, ChildReport, CompileReply, RawError, ReferenceReply, TraceReply
from maxkernel_tools.wire.arrays import BlobReader, BlobWriter
from maxkernel_tools.wire.fields import PlainFields
from maxkernel_tools.wire.frames import Message, WireError

_TRACE: Final = PlainFields(TraceReply, "child", "exported", "errors")
_CASE: Final = PlainFields(CaseReply, "outputs", "exported")
_REFERENCE: Final = PlainFields(ReferenceReply, "child", "inputs", "outputs", "oracle")
_COMPILE: Final = PlainFields(CompileReply, "child", "hlo_text", "dump_dir", "cached", "restarted", "crash_log")
_ERROR: Final = PlainFields(RawError)


def prepare() -> None:
    """Build every validator of this module; see :meth:`PlainFields.prepare`."""
    for fields in (_TRACE, _CASE, _REFERENCE, _COMPILE, _ERROR):
        fields.prepare()


def encode_walls(report: SandboxReport, nonce: str) -> Message:
    """The first frame of a child: which walls stand, said before any candidate code runs."""
    return Message(kind="walls", nonce=nonce, body=report.model_dump(mode="json"))


def decode_walls(message: Message) -> SandboxReport:
    """Read the first frame of a child."""
    try:
        return SandboxReport.model_validate(message.body)
    except ValueError as error:
        raise WireError(f"Malformed walls: {error}") from None


def encode_done(error: RawError | None, nonce: str) -> Message:
    """The last frame of a child: everything was sent, or what stopped it."""
    return Message(kind="done", nonce=nonce, body={"error": None if error is None else _ERROR.dump(error)})


def decode_done(message: Message) -> RawError | None:
    """Read the last frame of a child."""
    return _error(message.body.get("error"))


def encode_trace_reply(reply: TraceReply, nonce: str) -> Message:
    """Return ``reply`` as a frame; its ``child`` is not sent."""
    writer = BlobWriter()
    body = _TRACE.dump(reply)
    body["exported"] = [[str(target), writer.put(data)] for target, data in reply.exported.items()]
    body["errors"] = [
        [None if target is None else str(target), _ERROR.dump(error)] for target, error in reply.errors.items()
    ]
    return Message(kind="trace", nonce=nonce, body=body, blobs=writer.blobs)


def decode_trace_reply(message: Message, child: ChildReport) -> TraceReply:
    """Read a trace reply; ``child`` is the supervisor's word."""
    reader = BlobReader(message.blobs)
    exported: dict[Target, bytes] = {}
    for target, blob in _pairs(message.body, "exported"):
        exported[_target(target)] = reader.get(blob)
    errors: dict[Target | None, RawError] = {}
    for target, error in _pairs(message.body, "errors"):
        read = _error(error)
        if read is not None:
            errors[None if target is None else _target(target)] = read
    return TraceReply(**_TRACE.load(message.body), child=child, exported=exported, errors=errors)


def encode_case(reply: CaseReply, nonce: str) -> Message:
    """Return one interpreted case as a frame."""
    writer = BlobWriter()
    body = _CASE.dump(reply)
    body["outputs"] = writer.arrays(reply.outputs)
    body["exported"] = None if reply.exported is None else writer.put(reply.exported)
    return Message(kind="case", nonce=nonce, body=body, blobs=writer.blobs)


def decode_case(message: Message) -> CaseReply:
    """Read one interpreted case."""
    reader = BlobReader(message.blobs)
    exported = message.body.get("exported")
    return CaseReply(
        **_CASE.load(message.body),
        outputs=reader.arrays(message.body.get("outputs")),
        exported=None if exported is None else reader.get(exported),
    )


def encode_reference_reply(reply: ReferenceReply, nonce: str) -> Message:
    """Return ``reply`` as a frame; its ``child`` is not sent."""
    writer = BlobWriter()
    body = _REFERENCE.dump(reply)
    for name in ("inputs", "outputs", "oracle"):
        body[name] = writer.arrays(getattr(reply, name))
    return Message(kind="reference", nonce=nonce, body=body, blobs=writer.blobs)


def decode_reference_reply(message: Message, child: ChildReport) -> ReferenceReply:
    """Read a reference reply; ``child`` is the supervisor's word."""
    reader = BlobReader(message.blobs)
    return ReferenceReply(
        **_REFERENCE.load(message.body),
        child=child,
        inputs=reader.arrays(message.body.get("inputs")),
        outputs=reader.arrays(message.body.get("outputs")),
        oracle=reader.arrays(message.body.get("oracle")),
    )


def encode_compile_reply(reply: CompileReply, nonce: str) -> Message:
    """Return ``reply`` as a frame; child, cache and restart are the lab's to say, the dump folder it knows."""
    writer = BlobWriter()
    body = {**_COMPILE.dump(reply), "hlo_text": writer.put(reply.hlo_text.encode("utf-8", "replace"))}
    return Message(kind="compile", nonce=nonce, body=body, blobs=writer.blobs)


def decode_compile_reply(message: Message, child: ChildReport, dump_dir: Path | None) -> CompileReply:
    """Read a compile reply."""
    text = BlobReader(message.blobs).get(message.body.get("hlo_text")).decode("utf-8", "replace")
    return CompileReply(**_COMPILE.load(message.body), hlo_text=text, child=child, dump_dir=dump_dir)


def _error(value: object) -> RawError | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise WireError("An error that is no object.")
    return RawError(**_ERROR.load(cast("dict[str, Any]", value)))


def _pairs(body: Any, name: str) -> list[tuple[Any, Any]]:
    value = body.get(name)
    if not isinstance(value, list):
        raise WireError(f"{name} is not a list.")
    pairs = cast("list[Any]", value)
    if not all(isinstance(pair, list) and len(cast("list[Any]", pair)) == 2 for pair in pairs):
        raise WireError(f"{name} is not a list of pairs.")
    return [(pair[0], pair[1]) for pair in pairs]


def _target(value: object) -> Target:
    try:
        return Target(value)
    except ValueError:
        raise WireError(f"No target is called {value!r:.40}.") from None
