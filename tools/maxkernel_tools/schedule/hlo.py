"""Reads HLO module text: the scheduled entry computation, shapes with layout and memory space, source lines.

Understands what the model needs and skips the rest; both the ``TLP-hlo`` dump and ``compiled.as_text()`` are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from maxkernel_tools.records.arrays import DTYPES

_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([\d,]*)\](\{[^}]*\})?")
_OP = re.compile(r"^\s*(?:ROOT )?%(?P<name>[\w.\-]+) = (?P<shape>\([^=]*?\)|\S+) (?P<opcode>[\w\-]+)\((?P<rest>.*)$")
_COMPUTATION = re.compile(r"^(?P<entry>ENTRY )?%(?P<name>[\w.\-]+) \(")
_ATTRIBUTE_COMPUTATION = re.compile(r"(?:calls|body|condition|to_apply)=%?([\w.\-]+)")
_SPACE = re.compile(r"S\((\d+)\)")
_OPAQUE = re.compile(r"backend_config=\"?\{.*$")


@dataclass(frozen=True)
class HloArray:
    """One array of a (possibly tuple) shape.

    Attributes:
        dtype: short spelling; ``dims``: extents; ``memory_space``: 0 is HBM, 1 is VMEM, others are scalar or flags.
    """

    dtype: str
    dims: tuple[int, ...]
    memory_space: int

    @property
    def nbytes(self) -> int:
        """Bytes without tile padding."""
        total = DTYPES[self.dtype][1] if self.dtype in DTYPES else 32
        for extent in self.dims:
            total *= extent
        return (total + 7) // 8


@dataclass(frozen=True)
class HloOp:
    """One instruction of a computation.

    Attributes:
        trip_count: of a while loop, where the compiler knows it.
        line: source line; ``scoped_bytes``: VMEM it asked for.
        prefetched: a copy into VMEM that the previous run of the program may already have made.
    """

    name: str
    opcode: str
    arrays: tuple[HloArray, ...]
    operands: tuple[str, ...]
    called: tuple[str, ...]
    trip_count: int | None = None
    line: int | None = None
    op_name: str = ""
    scoped_bytes: int | None = None
    is_root: bool = False
    prefetched: bool = False


@dataclass(frozen=True)
class HloModule:
    """A parsed module: computations in order of appearance; ``entry`` names the one that runs."""

    computations: dict[str, tuple[HloOp, ...]] = field(default_factory=dict[str, tuple[HloOp, ...]])
    entry: str = ""

    @property
    def entry_ops(self) -> tuple[HloOp, ...]:
        """The scheduled ops of the entry computation."""
        return self.computations.get(self.entry, ())

    @cached_property
    def all_ops(self) -> dict[str, HloOp]:
        """Every op by name; names are unique in a module."""
        return {op.name: op for ops in self.computations.values() for op in ops}

    @property
    def argument_bytes(self) -> int:
        """Bytes of all entry parameters."""
        return sum(array.nbytes for op in self.entry_ops if op.opcode == "parameter" for array in op.arrays)

    @property
    def output_bytes(self) -> int:
        """Bytes of the entry's result."""
        return sum(array.nbytes for op in self.entry_ops if op.is_root for array in op.arrays)


def parse_shape(text: str) -> tuple[HloArray, ...]:
    """Read ``bf16[8,128]{1,0:T(8,128)(2,1)S(1)}`` or a tuple of such."""
    arrays: list[HloArray] = []
    for dtype, dims, layout in _ARRAY.findall(text):
        space = _SPACE.search(layout or "")
        extents = tuple(int(part) for part in dims.split(",") if part)
        arrays.append(HloArray(dtype, extents, int(space.group(1)) if space else 0))
    return tuple(arrays)


def _operand_names(rest: str) -> tuple[str, ...]:
    depth = 1
    for at, char in enumerate(rest):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return tuple(re.findall(r"%([\w.\-]+)", rest[:at]))
    return tuple(re.findall(r"%([\w.\-]+)", rest))


def parse_hlo(text: str) -> HloModule:
    """Parse a module; lines of another form are skipped, so that new attributes do no harm."""
    computations: dict[str, list[HloOp]] = {}
    current = ""
    entry = ""
    frames = _stack_frames(text)
    for line in text.splitlines():
        head = _COMPUTATION.match(line)
        if head and line.rstrip().endswith("{"):
            current = head.group("name")
            computations[current] = []
            entry = current if head.group("entry") else entry
            continue
        match = _OP.match(line) if current else None
        if match is None:
            continue
        rest = match.group("rest")
        attributes = _OPAQUE.sub("", rest)
        trips = re.search(r'known_trip_count"?:\{"n":"(\d+)"', rest)
        scoped = re.search(r'"used_scoped_memory_configs":\[\{"memory_space":"1","offset":"\d+","size":"(\d+)"', rest)
        op_name = re.search(r'op_name="([^"]*)"', attributes)
        computations[current].append(
            HloOp(
                name=match.group("name"),
                opcode=match.group("opcode"),
                arrays=parse_shape(match.group("shape")),
                operands=_operand_names(attributes),
                called=tuple(_ATTRIBUTE_COMPUTATION.findall(attributes)),
                trip_count=int(trips.group(1)) if trips else None,
                line=_line(attributes, frames),
                op_name=op_name.group(1) if op_name else "",
                scoped_bytes=int(scoped.group(1)) if scoped else None,
                prefetched="cross_program_prefetch_index" in attributes,
                is_root=line.lstrip().startswith("ROOT "),
            )
        )
    return HloModule({name: tuple(ops) for name, ops in computations.items()}, entry)


def _line(attributes: str, frames: dict[int, int]) -> int | None:
    direct = re.search(r"source_line=(\d+)", attributes)
    if direct:
        return int(direct.group(1))
    frame = re.search(r"stack_frame_id=(\d+)", attributes)
    return frames.get(int(frame.group(1))) if frame else None


def _stack_frames(text: str) -> dict[int, int]:
    """Map stack frame ids to lines, from the tables newer modules carry in their header."""
    header = text.partition("\nENTRY ")[0]
    locations = {
        int(key): int(line)
        for key, line in re.findall(r"^(\d+) \{file_name_id=\d+ .*?line=(\d+)", header, re.MULTILINE)
    }
    frames = re.findall(r"^(\d+) \{file_location_id=(\d+)", header, re.MULTILINE)
    return {int(key): locations[int(at)] for key, at in frames if int(at) in locations}
