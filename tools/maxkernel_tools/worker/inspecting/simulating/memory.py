"""The state of a simulated kernel's memory: references, copies in flight, semaphores, and what was observed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from maxkernel_tools.worker.inspecting.lines import Place
from maxkernel_tools.worker.inspecting.simulating.regions import Box, clip, is_empty, overlaps, remove, whole
from maxkernel_tools.worker.inspecting.simulating.views import Region

Coords = tuple[int, ...]


@dataclass(eq=False)
class Ref:
    """One reference a body holds.

    Attributes:
        name: operand name. ``argument``: what the body calls it.
        kind: ``in``, ``out``, ``scratch``, ``local``, ``prefetch``.
        initialised: it holds something before the body writes it.
        written: boxes written since it last became empty, with the grid step of the write, oldest first.
        maybe: an access that could not be followed may have written it.
        first_write: where it was first written.
    """

    name: str
    argument: str
    kind: str
    shape: tuple[int, ...]
    bits: int
    initialised: bool
    is_semaphore: bool = False
    written: list[tuple[Box, Coords]] = field(default_factory=list[tuple[Box, Coords]])
    maybe: bool = False
    first_write: Place | None = None
    counts: dict[Box, int] = field(default_factory=dict[Box, int])

    def write(self, region: Region, step: Coords) -> None:
        """Record a write."""
        if not (region.exact and region.known):
            self.maybe = True
            return
        box = clip(region.box, self.shape)
        if box == whole(self.shape):
            self.written.clear()
        else:
            self.written = [(old, at) for old, at in self.written if remove([old], box)]
        self.written.append((box, step))

    def uncovered(self, box: Box) -> list[Box]:
        """Return what of ``box`` was never written; nothing where that cannot be known."""
        if self.initialised or self.maybe:
            return []
        left = [clip(box, self.shape)]
        for old, _ in reversed(self.written):
            left = remove(left, old)
            if not left:
                return []
        return [piece for piece in left if not is_empty(piece)]

    def writers(self, box: Box) -> set[Coords]:
        """Return the grid steps whose writes a read of ``box`` sees."""
        left = [clip(box, self.shape)]
        found: set[Coords] = set()
        for old, step in reversed(self.written):
            if any(overlaps(piece, old) for piece in left):
                found.add(step)
                left = remove(left, old)
                if not left:
                    break
        return found

    def forget(self) -> None:
        """Become empty: a window that now holds another block."""
        self.written.clear()
        self.maybe = False


@dataclass(eq=False)
class Copy:
    """An asynchronous copy in flight."""

    source: Ref | None
    source_region: Region | None
    destination: Ref | None
    destination_region: Region | None
    semaphore: Ref
    slot: Box
    bits: int | None
    place: Place | None
    step: Coords


@dataclass(frozen=True)
class Observation:
    """Something that will go wrong, or has: a kind, a place, and the figures that show it."""

    kind: str
    place: Place | None
    operand: str
    argument: str
    detail: dict[str, Any]


@dataclass(frozen=True)
class Garbage:
    """A value read from memory nothing was written to, or computed from one.

    Reading it does no harm; storing it does. A choice that never takes it is the usual way to initialise in place.
    """

    ref: Ref
    place: Place | None
    missing: Box


@dataclass
class Memory:
    """Copies in flight and observations, over all references."""

    copies: list[Copy] = field(default_factory=list[Copy])
    observations: list[Observation] = field(default_factory=list[Observation])
    _seen: set[tuple[str, int | None, str]] = field(default_factory=set[tuple[str, int | None, str]])

    def observe(self, kind: str, place: Place | None, ref: Ref, **detail: Any) -> None:
        """Note something once per kind, line and reference."""
        key = (kind, None if place is None else place.line, ref.name)
        if key not in self._seen:
            self._seen.add(key)
            self.observations.append(Observation(kind, place, ref.name, ref.argument, detail))

    def landing_in(self, ref: Ref, region: Region) -> Copy | None:
        """Return a copy in flight that certainly writes what ``region`` touches."""
        return self._certain(ref, region, incoming=True)

    def reading_from(self, ref: Ref, region: Region) -> Copy | None:
        """Return a copy in flight that certainly reads what ``region`` touches."""
        return self._certain(ref, region, incoming=False)

    def _certain(self, ref: Ref, region: Region, *, incoming: bool) -> Copy | None:
        if not region.known:
            return None
        for copy in self.copies:
            other = copy.destination if incoming else copy.source
            touched = copy.destination_region if incoming else copy.source_region
            if other is ref and touched is not None and touched.known and overlaps(touched.box, region.box):
                return copy
        return None
