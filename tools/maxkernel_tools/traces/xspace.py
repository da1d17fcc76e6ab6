"""The XSpace message (``*.xplane.pb``), built as a protobuf descriptor at run time. Owns the wire format, no meaning.

Strings are declared as ``bytes``: real captures hold names that are not UTF-8, and a strict parser would refuse them.
Fields nobody reads here are left out; protobuf keeps them as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from maxkernel_tools.errors import MisuseError

_PACKAGE = "maxkernel.traces"
_KIND: Final[Mapping[str, int]] = {"double": 1, "int64": 3, "uint64": 4, "bytes": 12}

# message -> (field, number, kind or message name, repeated). Source: tsl/profiler/protobuf/xplane.proto of OpenXLA.
_FIELDS: Final[Mapping[str, Sequence[tuple[str, int, str, bool]]]] = {
    "XSpace": (
        ("planes", 1, "XPlane", True),
        ("errors", 2, "bytes", True),
        ("warnings", 3, "bytes", True),
        ("hostnames", 4, "bytes", True),
    ),
    "XPlane": (
        ("id", 1, "int64", False),
        ("name", 2, "bytes", False),
        ("lines", 3, "XLine", True),
        ("event_metadata", 4, "EventEntry", True),
        ("stat_metadata", 5, "StatEntry", True),
        ("stats", 6, "XStat", True),
    ),
    "EventEntry": (("key", 1, "int64", False), ("value", 2, "XEventMetadata", False)),
    "StatEntry": (("key", 1, "int64", False), ("value", 2, "XStatMetadata", False)),
    "XLine": (
        ("id", 1, "int64", False),
        ("name", 2, "bytes", False),
        ("timestamp_ns", 3, "int64", False),
        ("events", 4, "XEvent", True),
        ("display_name", 11, "bytes", False),
    ),
    "XEvent": (
        ("metadata_id", 1, "int64", False),
        ("offset_ps", 2, "int64", False),
        ("duration_ps", 3, "int64", False),
        ("stats", 4, "XStat", True),
    ),
    "XStat": (
        ("metadata_id", 1, "int64", False),
        ("double_value", 2, "double", False),
        ("uint64_value", 3, "uint64", False),
        ("int64_value", 4, "int64", False),
        ("str_value", 5, "bytes", False),
        ("bytes_value", 6, "bytes", False),
        ("ref_value", 7, "uint64", False),
    ),
    "XEventMetadata": (
        ("id", 1, "int64", False),
        ("name", 2, "bytes", False),
        ("metadata", 3, "bytes", False),
        ("display_name", 4, "bytes", False),
        ("stats", 5, "XStat", True),
    ),
    "XStatMetadata": (("id", 1, "int64", False), ("name", 2, "bytes", False)),
}
_STAT_VALUES = ("double_value", "uint64_value", "int64_value", "str_value", "bytes_value")


class Stat(Protocol):
    """One ``XStat``; exactly one of the values is set."""

    metadata_id: int
    double_value: float
    uint64_value: int
    int64_value: int
    str_value: bytes
    bytes_value: bytes
    ref_value: int

    def WhichOneof(self, group: str) -> str | None:  # noqa: N802 - protobuf's own name
        """Return the name of the field that is set."""
        ...


class Event(Protocol):
    """One ``XEvent``: when it ran by the host's clock, and what the device says in its stats."""

    metadata_id: int
    offset_ps: int
    duration_ps: int
    stats: Sequence[Stat]


class Line(Protocol):
    """One ``XLine``: a lane of events."""

    id: int
    name: bytes
    timestamp_ns: int
    events: Sequence[Event]
    display_name: bytes


class EventMetadata(Protocol):
    """What all events of one metadata id share."""

    id: int
    name: bytes
    display_name: bytes
    stats: Sequence[Stat]


class EventEntry(Protocol):
    """One entry of a plane's event metadata map."""

    key: int
    value: EventMetadata


class StatMetadata(Protocol):
    """The name of a stat, or the text a stat refers to."""

    id: int
    name: bytes


class StatEntry(Protocol):
    """One entry of a plane's stat metadata map."""

    key: int
    value: StatMetadata


class Plane(Protocol):
    """One ``XPlane``: a device core, a host, or the task environment."""

    id: int
    name: bytes
    lines: Sequence[Line]
    event_metadata: Sequence[EventEntry]
    stat_metadata: Sequence[StatEntry]
    stats: Sequence[Stat]


class Space(Protocol):
    """One ``XSpace``: a whole capture."""

    planes: Sequence[Plane]
    errors: Sequence[bytes]
    warnings: Sequence[bytes]
    hostnames: Sequence[bytes]


def _describe() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="maxkernel/traces/xspace.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _FIELDS.items():
        kind = file.message_type.add(name=name)
        grouped = name == "XStat"
        if grouped:
            kind.oneof_decl.add(name="value")
        for field, number, of, repeated in fields:
            entry: Any = kind.field.add(name=field, number=number, label=3 if repeated else 1)
            if of in _KIND:
                entry.type = _KIND[of]
            else:
                entry.type = 11
                entry.type_name = f".{_PACKAGE}.{of}"
            if grouped and field != "metadata_id":
                entry.oneof_index = 0
    return file


@cache
def message_classes() -> Mapping[str, type[message.Message]]:
    """Return the message classes by name (``XSpace``, ``XPlane``, ...), from a pool of their own."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_describe())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _FIELDS}


def read_space(path: Path) -> Space:
    """Parse a whole ``*.xplane.pb``.

    Raises:
        MisuseError: the bytes are no XSpace (truncated, or passed through a text conversion).
    """
    return parse_space(path.read_bytes(), path.name)


def parse_space(data: bytes, name: str) -> Space:
    """Parse the bytes of an XSpace; ``name`` is for the error."""
    try:
        space = message_classes()["XSpace"].FromString(data)
    except message.DecodeError as error:
        raise corrupt(name, data) from error
    found = cast("Space", space)
    if not found.planes:
        raise corrupt(name, data)
    return found


def corrupt(name: str, data: bytes) -> MisuseError:
    """Say what is wrong with bytes that do not parse."""
    why = "it is truncated, or no XSpace with planes"
    if not data:
        why = "it is empty"
    elif data.count(b"\xef\xbf\xbd") > 16:
        why = "it went through a UTF-8 conversion, which replaced bytes it could not read (U+FFFD all over)"
    return MisuseError(
        f"The capture {name} cannot be parsed: {why}.",
        allowed="an intact *.xplane.pb of jax.profiler, or its *.trace.json.gz.",
        action="Copy the file again in binary mode, or capture again.",
    )


def text(data: bytes) -> str:
    """Decode a name; bytes that are not UTF-8 become visible escapes."""
    return data.decode("utf-8", "backslashreplace")


StatValue = int | float | str | bytes


def stat_values(stats: Sequence[Stat], names: Mapping[int, str]) -> dict[str, StatValue]:
    """Return stats by name; references are resolved to the text they refer to."""
    values: dict[str, StatValue] = {}
    for stat in stats:
        which = stat.WhichOneof("value")
        if which is None:
            continue
        name = names.get(stat.metadata_id, "")
        if which == "ref_value":
            values[name] = names.get(stat.ref_value, "")
        elif which == "str_value":
            values[name] = text(stat.str_value)
        else:
            values[name] = cast("StatValue", getattr(stat, which))
    return values


def stat_names(plane: Plane) -> dict[int, str]:
    """Return the names of a plane's stats by metadata id."""
    return {entry.key: text(entry.value.name) for entry in plane.stat_metadata}
