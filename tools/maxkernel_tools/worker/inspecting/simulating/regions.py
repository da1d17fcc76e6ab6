"""Boxes of a reference, and what of a box others leave uncovered."""

from __future__ import annotations

from collections.abc import Iterable

Box = tuple[tuple[int, int], ...]
"""Half-open ``(start, stop)`` per dimension; empty for a scalar reference."""

_MAX_PIECES = 256


def whole(shape: Iterable[int]) -> Box:
    """Return the box of a whole reference."""
    return tuple((0, extent) for extent in shape)


def is_empty(box: Box) -> bool:
    """Whether a box holds nothing."""
    return any(stop <= start for start, stop in box)


def overlaps(one: Box, other: Box) -> bool:
    """Whether two boxes share an element."""
    return all(a < d and c < b for (a, b), (c, d) in zip(one, other, strict=True))


def clip(box: Box, shape: Iterable[int]) -> Box:
    """Return the part of a box inside a reference of ``shape``."""
    return tuple((max(start, 0), min(stop, extent)) for (start, stop), extent in zip(box, shape, strict=True))


def subtract(box: Box, hole: Box) -> list[Box]:
    """Return boxes that together are ``box`` without ``hole``."""
    if not overlaps(box, hole):
        return [box]
    pieces: list[Box] = []
    rest = list(box)
    for axis, ((start, stop), (low, high)) in enumerate(zip(box, hole, strict=True)):
        if start < low:
            pieces.append((*rest[:axis], (start, low), *rest[axis + 1 :]))
        if high < stop:
            pieces.append((*rest[:axis], (high, stop), *rest[axis + 1 :]))
        rest[axis] = (max(start, low), min(stop, high))
    return pieces


def remove(pieces: list[Box], hole: Box) -> list[Box]:
    """Return ``pieces`` without ``hole``; nothing where there would be too many pieces to follow."""
    left: list[Box] = []
    for piece in pieces:
        left.extend(subtract(piece, hole))
        if len(left) > _MAX_PIECES:
            return []
    return left


def elements(box: Box) -> int:
    """Return how many elements a box holds."""
    total = 1
    for start, stop in box:
        total *= max(stop - start, 0)
    return total
