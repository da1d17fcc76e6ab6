"""Reads ``*post-ra.txt``: the tree of regions, loops with their static trip counts, predicated regions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from maxkernel_tools.schedule.dumps import DumpFolder
from maxkernel_tools.schedule.unknown import UnknownFormatError

_REGION = re.compile(r"^\s*\$region(\d+):(?: #\{([^}]*)\})?(?: parent=(\d+))?\s*(?://\s*(\w+))?")
_LOOP = re.compile(r"^\s*loop: start=(-?\d+), step=(-?\d+), limit=(-?\d+)", re.MULTILINE)
_ALLOCATION = re.compile(
    r"^\s*#allocation\d+(?:_spill)? \[shape = '([^']*)', space=vmem, size = 0x([0-9a-f]{1,9}), [^\n]*?tag = '([^']*)",
    re.MULTILINE,
)
_WANTED = re.compile(r"^\s*(?:\$region\d+:|loop: ).*$", re.MULTILINE)


@dataclass(frozen=True)
class Region:
    """One region of the tree.

    Attributes:
        role: ``loop_body``, ``pred_region``, ``pred_check``, ... or empty.
        op: the HLO op it belongs to.
        trips: static trip count of the loop it holds, if it holds one with a static count.
    """

    number: int
    parent: int | None
    role: str
    op: str
    trips: int | None


def parse_regions(text: str) -> dict[int, Region]:
    """Parse the region tree, by number.

    Raises:
        UnknownFormatError: there is no region line.
    """
    regions: dict[int, Region] = {}
    last: Region | None = None
    for line in _WANTED.findall(text):
        head = _REGION.match(line)
        if head:
            parent = int(head.group(3)) if head.group(3) else None
            last = Region(int(head.group(1)), parent, head.group(4) or "", head.group(2) or "", None)
            regions[last.number] = last
            continue
        loop = _LOOP.match(line)
        if loop and last is not None:
            start, step, limit = map(int, loop.groups())
            trips = max(0, -(-(limit - start) // step)) if step else None
            regions[last.number] = Region(last.number, last.parent, last.role, last.op, trips)
    if not regions:
        raise UnknownFormatError("post-ra", "no regions")
    return regions


@dataclass(frozen=True)
class Allocation:
    """One allocation in VMEM, and what it is for in the compiler's words."""

    nbytes: int
    shape: str
    tag: str


def vmem_allocations(text: str) -> tuple[Allocation, ...]:
    """Return what a schedule holds in VMEM for itself, from its ``post-ra`` dump."""
    return tuple(Allocation(int(size, 16), shape, tag) for shape, size, tag in _ALLOCATION.findall(text))


def outer_trips(folder: DumpFolder) -> dict[str, int]:
    """Return, by program, the trip count of its first outermost loop, where it is static."""
    trips: dict[str, int] = {}
    for program in folder.programs:
        if not folder.has(program, "post_ra"):
            continue
        loop = _LOOP.search(folder.text(program, "post_ra"))
        if loop:
            start, step, limit = map(int, loop.groups())
            trips[program] = max(1, -(-(limit - start) // step)) if step else 1
    return trips
