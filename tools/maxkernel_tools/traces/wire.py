"""Reads protobuf wire format from a mapped file: many messages of one kind at once, in columns. Owns no meaning.

A capture has a message per event, and a Python object per message costs microseconds. Here the messages of a lane go
in lockstep instead: the first field of all of them, then the second of all of them. Source of the format: Protocol
Buffers' encoding guide (https://protobuf.dev/programming-guides/encoding/).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Buffer = np.ndarray[tuple[int], np.dtype[np.uint8]]
Positions = np.ndarray[tuple[int], np.dtype[np.int64]]

VARINT, FIXED64, SPAN, FIXED32 = 0, 1, 2, 5
_VARINT_BYTES = 10
_TAG = 3


class WireError(ValueError):
    """The bytes are no protobuf message."""


@dataclass(frozen=True)
class Fields:
    """One field of many messages, at most one for each.

    Attributes:
        owners: which message each belongs to.
        numbers: field numbers; ``wires``: wire types.
        values: the value of a varint; of anything else where its bytes begin.
        ends: where its bytes end.
    """

    owners: Positions
    numbers: Positions
    wires: Positions
    values: Positions
    ends: Positions

    def pick(self, number: int, wire: int) -> tuple[Positions, Positions, Positions]:
        """Return owners, values and ends of one field."""
        chosen = (self.numbers == number) & (self.wires == wire)
        return self.owners[chosen], self.values[chosen], self.ends[chosen]


def varints(buffer: Buffer, at: Positions) -> tuple[Positions, Positions]:
    """Return the varints at positions, as signed 64 bits, and where each ends.

    Raises:
        WireError: one runs past the end, or is longer than ten bytes.
    """
    if len(at) and int(at.max()) >= len(buffer):
        raise WireError("a number runs past the end")
    first = buffer[at]
    values = (first & 0x7F).astype(np.uint64)
    ends = at + 1
    left = np.flatnonzero(first >= 0x80)
    shift = 7
    while len(left):
        where = ends[left]
        if shift >= 7 * _VARINT_BYTES or int(where.max()) >= len(buffer):
            raise WireError("a number runs past the end")
        found = buffer[where]
        values[left] |= (found & 0x7F).astype(np.uint64) << np.uint64(shift)
        ends[left] += 1
        left = left[found >= 0x80]
        shift += 7
    return values.view(np.int64), ends


def fields(buffer: Buffer, starts: Positions, stops: Positions) -> Iterator[Fields]:
    """Yield the first field of every message, then the second of those that have one, and so on.

    Raises:
        WireError: the bytes are no messages.
    """
    owners = np.flatnonzero(starts < stops).astype(np.int64)
    at, limits = starts[owners], stops[owners]
    while len(owners):
        tags, at = varints(buffer, at)
        numbers, wires = tags >> _TAG, tags & 7
        values, ends = at.copy(), at.copy()
        whole = np.flatnonzero(wires == VARINT)
        values[whole], ends[whole] = varints(buffer, at[whole])
        spans = np.flatnonzero(wires == SPAN)
        lengths, values[spans] = varints(buffer, at[spans])
        if len(lengths) and (int(lengths.min()) < 0 or int(lengths.max()) > len(buffer)):
            raise WireError("a field longer than the file")
        ends[spans] = values[spans] + lengths
        ends[wires == FIXED64] += 8
        ends[wires == FIXED32] += 4
        known = (wires == VARINT) | (wires == SPAN) | (wires == FIXED64) | (wires == FIXED32)
        if not bool(known.all()) or bool((numbers <= 0).any()) or bool((ends > limits).any()):
            raise WireError("a field that runs past its message")
        yield Fields(owners, numbers, wires, values, ends)
        left = np.flatnonzero(ends < limits)
        owners, at, limits = owners[left], ends[left], limits[left]


def spans_of(data: Any, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, begin and end of each field of one message that holds bytes (not those that hold numbers).

    Args:
        data: what can be indexed by byte.
        start: where the message begins.
        stop: where it ends.

    Raises:
        WireError: the bytes are no message.
    """
    at = start
    while at < stop:
        tag = data[at]
        # Most fields of a lane are events: a tag of one byte, a length of one byte.
        if tag & 0x87 == SPAN and tag > 7 and at + 1 < stop and (length := data[at + 1]) < 0x80:
            begin = at + 2
            at = begin + length
            if at > stop:
                raise WireError("a field that runs past its message")
            yield tag >> _TAG, begin, at
            continue
        tag, at = _varint(data, at, stop)
        wire = tag & 7
        if tag >> _TAG == 0:
            raise WireError("field number 0")
        if wire == SPAN:
            length, at = _varint(data, at, stop)
            if at + length > stop:
                raise WireError("a field that runs past its message")
            yield tag >> _TAG, at, at + length
            at += length
        elif wire == VARINT:
            _, at = _varint(data, at, stop)
        elif wire in (FIXED64, FIXED32):
            at += 8 if wire == FIXED64 else 4
        else:
            raise WireError("an unknown wire type")
    if at != stop:
        raise WireError("a field that runs past its message")


def _varint(data: Any, at: int, stop: int) -> tuple[int, int]:
    value = shift = 0
    while at < stop and shift < 7 * _VARINT_BYTES:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError("a number runs past the end")
