"""Makes instructions ready to run: operands resolved to ints or names, opcodes to kinds, transfers to directions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from maxkernel_tools.schedule import scalars
from maxkernel_tools.schedule.bundles import Instruction, Listing
from maxkernel_tools.schedule.engine import Direction
from maxkernel_tools.schedule.scalars import Value

Operand = int | str | None
Kind = Literal[
    "binary", "move", "negate", "select", "address", "load", "pop", "unknown",
    "phi", "store", "divide", "branch", "call", "dma", "wait", "sync", "semaphore", "delay",
]  # fmt: skip

_POINTER = re.compile(r"^(?:int_to_ptr|scalar_lea|inlined_call_operand)\.(\w+)$")
_DIRECTION = re.compile(r"^dma\.(\w+?)_to_(\w+)$")
_PIECES = re.compile(r"\[#[^\]]*\]|%\w+|-?\d+")

# First match wins; prefixes, because versions append suffixes such as ".u32" or ".rel".
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("sbr", "branch"),
    ("inlined_call", "call"),
    ("dma.done", "wait"),
    ("dma.", "dma"),
    ("vsync", "sync"),
    ("vwait", "semaphore"),
    ("swait", "semaphore"),
    ("vdelay", "delay"),
    ("sst", "store"),
    ("sld", "load"),
    ("sphi", "phi"),
    ("sdivrem", "divide"),
    ("spop.drf", "pop"),
    ("smov", "move"),
    ("int_to_ptr", "move"),
    ("pneg", "negate"),
    ("scalar_select", "select"),
    ("scalar_lea", "address"),
)
EFFECTS: frozenset[Kind] = frozenset({"branch", "call", "dma", "wait", "sync", "semaphore", "delay", "divide"})
"""Kinds that are kept whatever their results are used for."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction made ready to run.

    Attributes:
        function: of two values, for kind ``binary``.
        direction: for kind ``dma``.
        memory: scalar memory slot of a load or store; the callee of a call.
    """

    kind: Kind
    bundle: int
    dest: str | None
    predicate: str | None
    negated: bool
    otherwise: Operand
    operands: tuple[Operand, ...]
    function: Callable[[Value, Value], Value] | None
    direction: Direction
    memory: str


def kind_of(opcode: str) -> Kind:
    """Return what an opcode does, as far as control and transfers go."""
    for prefix, kind in _KINDS:
        if opcode.startswith(prefix):
            return kind
    return "binary" if scalars.binary(opcode) is not None else "unknown"


def memory_slot(instruction: Instruction) -> str:
    """Return the scalar memory slot of a load or store, as text."""
    return instruction.operands.partition("]]")[0]


def pointer_spaces(listing: Listing) -> dict[str, str]:
    """Return the memory space of every name that holds an address."""
    return {
        item.dest: match.group(1)
        for item in listing.instructions
        if item.dest and (match := _POINTER.match(item.opcode))
    }


def resolve(text: str) -> Operand:
    """Return an operand as an int, a name, or None where it is of no use here."""
    match = scalars.OPERAND.match(text)
    if match is None:
        return None
    if match.group("name"):
        return match.group("name")
    if match.group("number"):
        return int(match.group("number"), 0)
    return scalars.allocation_address(match.group("allocation"))


def prepare(item: Instruction, spaces: dict[str, str]) -> Step:
    """Make one instruction ready to run."""
    kind = kind_of(item.opcode)
    parts = scalars.split_operands(item.operands)
    memory = ""
    if kind == "store":
        memory, parts = memory_slot(item), [item.operands.partition("]]")[2].strip()]
    elif kind == "load":
        memory, parts = memory_slot(item), []
    elif kind == "call":
        memory, parts = item.operands, []
    elif kind == "address":
        parts = _PIECES.findall(item.operands)
    elif item.opcode.startswith("int_to_ptr"):
        parts = re.findall(r"%\w+", item.operands)[-1:]
    direction = _direction(item.opcode, parts, spaces) if kind == "dma" else "local"
    if item.opcode == "dma.general":
        # Its strides lie in a descriptor in scalar memory; what follows the flags says nothing about pieces.
        parts = parts[:4]
    return Step(
        kind=kind,
        bundle=item.bundle,
        dest=item.dest,
        predicate=item.predicate,
        negated=item.negated,
        otherwise=resolve(item.otherwise) if item.otherwise else None,
        operands=tuple(resolve(part) for part in parts),
        function=scalars.binary(item.opcode) if kind == "binary" else None,
        direction=direction,
        memory=memory,
    )


def _direction(opcode: str, parts: list[str], spaces: dict[str, str]) -> Direction:
    match = _DIRECTION.match(opcode)
    if match:
        source, sink = match.groups()
    else:
        ends = [spaces.get(part.lstrip("%"), "vmem") for part in parts]
        source, sink = (ends[0], ends[2]) if len(ends) > 2 else ("vmem", "vmem")
    if source == "hbm":
        return "copy" if sink == "hbm" else "read"
    return "write" if sink == "hbm" else "local"
