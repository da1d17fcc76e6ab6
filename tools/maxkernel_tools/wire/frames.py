"""The frame: magic, header length, a JSON header, then raw blobs whose sizes the header names.

Reading is a generator that asks for byte counts, so that blocking and asynchronous readers share one parser.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from maxkernel_tools.errors import MachineryError

MAGIC: Final = b"MKF1"
_PREFIX: Final = struct.Struct("<4sI")

Buffer = bytes | bytearray | memoryview


class WireError(MachineryError):
    """A frame is malformed, oversized, or not from the job it claims to be from."""


@dataclass(frozen=True)
class Limits:
    """What a reader accepts before it allocates anything."""

    header_bytes: int = 16 << 20
    blob_bytes: int = 2 << 30
    total_bytes: int = 4 << 30
    blobs: int = 4096


@dataclass(frozen=True)
class Message:
    """One frame.

    Attributes:
        kind: what it is, e.g. ``trace``, ``case``, ``done``.
        nonce: the secret of the job; replies that do not carry it are refused.
        body: plain JSON.
        blobs: raw bytes the body refers to by index.
    """

    kind: str
    nonce: str
    body: Mapping[str, Any]
    blobs: Sequence[Buffer] = field(default_factory=tuple)


def encode(message: Message) -> list[Buffer]:
    """Return the buffers of ``message`` in sending order, blobs uncopied."""
    header = json.dumps(
        {
            "kind": message.kind,
            "nonce": message.nonce,
            "body": message.body,
            "blobs": [len(blob) for blob in message.blobs],
        },
        separators=(",", ":"),
    ).encode("utf-8", "surrogatepass")
    return [_PREFIX.pack(MAGIC, len(header)) + header, *(blob for blob in message.blobs if len(blob))]


def reading(limits: Limits, nonce: str | None) -> Generator[int, Buffer, Message]:
    """Parse one frame: yields how many bytes are needed next, is sent exactly those, returns the message.

    Args:
        limits: sizes to refuse beyond.
        nonce: the secret the frame must carry, or None to accept any.

    Raises:
        WireError: anything about the bytes is not as it should be.
    """
    magic, header_size = cast("tuple[bytes, int]", _PREFIX.unpack((yield _PREFIX.size)))
    if magic != MAGIC:
        raise WireError("Not a frame: wrong magic.")
    if header_size > limits.header_bytes:
        raise WireError(f"Header of {header_size} bytes; at most {limits.header_bytes} are accepted.")
    kind, sent_nonce, body, sizes = _header((yield header_size), limits)
    if nonce is not None and sent_nonce != nonce:
        raise WireError("A frame without the job's nonce.")
    blobs: list[Buffer] = []
    for size in sizes:
        blob: Buffer = (yield size) if size else b""
        blobs.append(blob)
    return Message(kind=kind, nonce=sent_nonce, body=body, blobs=blobs)


def _header(data: Buffer, limits: Limits) -> tuple[str, str, dict[str, Any], list[int]]:
    try:
        header: Any = json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise WireError(f"Header is not JSON: {type(error).__name__}.") from None
    if not isinstance(header, dict):
        raise WireError("Header is not an object.")
    fields = cast("dict[str, Any]", header)
    kind, nonce, body, sizes = (fields.get(name) for name in ("kind", "nonce", "body", "blobs"))
    if not isinstance(kind, str) or not isinstance(nonce, str) or not isinstance(body, dict):
        raise WireError("Header lacks kind, nonce or body.")
    if not isinstance(sizes, list) or len(cast("list[Any]", sizes)) > limits.blobs:
        raise WireError("Header lacks blob sizes, or names too many.")
    checked: list[int] = []
    for size in cast("list[Any]", sizes):
        if type(size) is not int or not 0 <= size <= limits.blob_bytes:
            raise WireError(f"Blob size {size!r:.40} is not accepted.")
        checked.append(size)
    if sum(checked) > limits.total_bytes:
        raise WireError(f"Frame of {sum(checked)} bytes; at most {limits.total_bytes} are accepted.")
    return kind, nonce, cast("dict[str, Any]", body), checked
