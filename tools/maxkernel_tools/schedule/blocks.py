"""Splits a schedule into basic blocks of the instructions that steer it; everything else is only counted in bundles."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from dataclasses import dataclass

from maxkernel_tools.schedule import scalars
from maxkernel_tools.schedule.bundles import Instruction, Listing, branch_target
from maxkernel_tools.schedule.steps import EFFECTS, Step, kind_of, memory_slot, pointer_spaces, prepare

DELAY_SLOTS = 4
"""Bundles that still issue after a branch: in every dump a branch and the code it skips lie that far apart."""


@dataclass(frozen=True, slots=True)
class Block:
    """Bundles from ``first`` to before ``stop``; ``target`` is where its branch goes, if it has one and it is taken."""

    first: int
    stop: int
    target: int
    steps: tuple[Step, ...]


def split_blocks(listing: Listing) -> dict[int, Block]:
    """Return the basic blocks by first bundle.

    Raises:
        UnknownFormatError: a branch has no target that can be found.
    """
    branches = {item.bundle: item for item in listing.instructions if kind_of(item.opcode) == "branch"}
    targets = {bundle: branch_target(listing, item) for bundle, item in branches.items()}
    leaders = {0, *targets.values(), *(bundle + DELAY_SLOTS + 1 for bundle in branches)}
    edges = [*sorted(leader for leader in leaders if leader < listing.bundles), listing.bundles]
    by_bundle: dict[int, list[Instruction]] = defaultdict(list)
    for item in steering(listing):
        by_bundle[item.bundle].append(item)
    spaces = pointer_spaces(listing)
    blocks: dict[int, Block] = {}
    for first, stop in itertools.pairwise(edges):
        steps: list[Step] = []
        target = stop
        for bundle in range(first, stop):
            # A phi only names the register it shares with its sources; it acts before its bundle.
            for item in sorted(by_bundle.get(bundle, ()), key=lambda item: item.opcode != "sphi"):
                steps.append(prepare(item, spaces))
                target = targets.get(bundle, target)
        blocks[first] = Block(first, stop, target, tuple(steps))
    return blocks


def steering(listing: Listing) -> list[Instruction]:
    """Keep branches, transfers and waits and what their predicates, sizes and flags are computed from."""
    uses: dict[str, set[str]] = defaultdict(set)
    roots: set[str] = set()
    for item in listing.instructions:
        kind = kind_of(item.opcode)
        names = set(re.findall(r"%(\w+)", item.operands)) if kind != "call" else set[str]()
        names.update(name for name in (item.predicate, (item.otherwise or "").lstrip("%")) if name)
        if kind == "load":
            names.add(_slot_name(item))
        if item.dest:
            uses[item.dest].update(names)
        if kind == "store":
            uses[_slot_name(item)].update(names)
        if kind in EFFECTS:
            roots.update(_transfer_roots(item) if kind == "dma" else names)
    live: set[str] = set()
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name not in live:
            live.add(name)
            pending.extend(uses.get(name, ()))
    return [item for item in listing.instructions if _is_live(item, live)]


def _is_live(item: Instruction, live: set[str]) -> bool:
    kind = kind_of(item.opcode)
    if kind in EFFECTS:
        return True
    return _slot_name(item) in live if kind == "store" else item.dest in live


def _slot_name(item: Instruction) -> str:
    return "memory " + memory_slot(item)


def _transfer_roots(item: Instruction) -> set[str]:
    """Size, flag, piece length and predicate of a transfer; its addresses are of no consequence here."""
    parts = scalars.split_operands(item.operands)
    wanted = (parts[1], parts[3], *parts[6:7]) if len(parts) > 3 else tuple(parts)
    roots = {part.lstrip("%") for part in wanted if part.startswith("%")}
    if item.predicate:
        roots.add(item.predicate)
    return roots
