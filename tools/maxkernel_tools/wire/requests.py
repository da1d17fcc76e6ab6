"""Requests of the lab, to and from frames: trace, interpret, reference, compile."""

from __future__ import annotations

from typing import Any, Final, cast

from maxkernel_tools.runtime import (
    CompileRequest,
    InterpretCase,
    InterpretOptions,
    InterpretRequest,
    ReferenceRequest,
    TraceRequest,
)
from maxkernel_tools.wire.arrays import BlobReader, BlobWriter
from maxkernel_tools.wire.fields import PlainFields
from maxkernel_tools.wire.frames import Message, WireError

JobRequest = TraceRequest | InterpretRequest | ReferenceRequest
Request = JobRequest | CompileRequest

_TRACE: Final = PlainFields(TraceRequest)
_COMPILE: Final = PlainFields(CompileRequest, "exported")
_INTERPRET: Final = PlainFields(InterpretRequest, "cases")
_OPTIONS: Final = PlainFields(InterpretOptions)
_REFERENCE: Final = PlainFields(ReferenceRequest, "overrides")
_KINDS: Final[dict[type[Any], str]] = {
    TraceRequest: "trace",
    InterpretRequest: "interpret",
    ReferenceRequest: "reference",
    CompileRequest: "compile",
}


def prepare() -> None:
    """Build every validator of this module; see :meth:`PlainFields.prepare`."""
    for fields in (_TRACE, _COMPILE, _INTERPRET, _OPTIONS, _REFERENCE):
        fields.prepare()


def kind_of(request: Request) -> str:
    """Return the frame kind of ``request``."""
    return _KINDS[type(request)]


def encode_request(request: Request, nonce: str) -> Message:
    """Return ``request`` as a frame."""
    writer = BlobWriter()
    if isinstance(request, TraceRequest):
        body = _TRACE.dump(request)
    elif isinstance(request, CompileRequest):
        body = {**_COMPILE.dump(request), "exported": writer.put(request.exported)}
    elif isinstance(request, InterpretRequest):
        cases = [
            {"inputs": writer.arrays(case.inputs), "options": _OPTIONS.dump(case.options)} for case in request.cases
        ]
        body = {**_INTERPRET.dump(request), "cases": cases}
    else:
        overrides = [[index, writer.array(array)] for index, array in request.overrides.items()]
        body = {**_REFERENCE.dump(request), "overrides": overrides}
    return Message(kind=kind_of(request), nonce=nonce, body=body, blobs=writer.blobs)


def decode_request(message: Message) -> Request:
    """Return the request in ``message``.

    Raises:
        WireError: the frame is not a request of this version.
    """
    body, reader = message.body, BlobReader(message.blobs)
    if message.kind == "trace":
        return TraceRequest(**_TRACE.load(body))
    if message.kind == "compile":
        return CompileRequest(**_COMPILE.load(body), exported=reader.get(body.get("exported")))
    if message.kind == "interpret":
        cases = tuple(_case(entry, reader) for entry in _list(body, "cases"))
        return InterpretRequest(**_INTERPRET.load(body), cases=cases)
    if message.kind == "reference":
        pairs = cast("list[list[Any]]", _list(body, "overrides"))
        overrides = {int(index): reader.array(entry) for index, entry in pairs}
        return ReferenceRequest(**_REFERENCE.load(body), overrides=overrides)
    raise WireError(f"No request is called {message.kind!r:.40}.")


def _case(entry: object, reader: BlobReader) -> InterpretCase:
    if not isinstance(entry, dict):
        raise WireError("A case that is no object.")
    case = cast("dict[str, Any]", entry)
    options = InterpretOptions(**_OPTIONS.load(case.get("options", {})))
    return InterpretCase(inputs=reader.arrays(case.get("inputs")), options=options)


def _list(body: Any, name: str) -> list[object]:
    value = body.get(name)
    if not isinstance(value, list):
        raise WireError(f"{name} is not a list.")
    return cast("list[object]", value)
