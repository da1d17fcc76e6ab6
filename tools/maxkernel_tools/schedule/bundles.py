"""Reads ``*final_bundles.txt``: the VLIW schedule, one bundle a line, as control, scalar and DMA instructions.

Vector instructions are skipped here (the utilisation dump counts them); what decides how often a bundle runs and what
is moved is kept. Two spellings of branch targets occur (``target = $region28`` and ``target bundleno = 77 (0x4d)``).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from maxkernel_tools.schedule.unknown import UnknownFormatError

_COMMENT = re.compile(r"/\*[^*]*\*/")
_HEAD = re.compile(r"^\s*(0x[0-9a-f]+|0)\s+([A-Z]{2})?\s*:\s*([>\s]*)\{", re.MULTILINE)
_REGION = re.compile(r"(Start/End empty region|Start region|End region) (\d+)")
# A scalar or predicate result, or an instruction that has none (stores, branches, transfers, waits).
_OP = re.compile(r"%(?:([sp]\d+(?:_[sp]\d+)?)|\d+) = ([a-z][\w.]*)\s*(.*)$", re.DOTALL)
_EFFECTS = ("sbr", "sdivrem", "dma", "sst", "vsync", "vdelay", "vwait", "swait", "inlined_call")
_MATMUL = re.compile(r" vmatmul\.[a-z0-9.]*?\b(bf16|f32|s8|u8|s4|u4|f8\w*)\b")
_PREDICATE = re.compile(r"\((!?)%(\w+)(?:, (%\w+|-?\d+))?\)")
_CALLEE = re.compile(r"/\* (?:%([\w.\-]+) = |(<[\w-]+>))")
_TARGET = re.compile(r"(?:\$region|region = )(\d+)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One scalar, predicate, DMA or control instruction.

    Attributes:
        bundle: index of the bundle it is in.
        dest: name of its result without ``%``, or None.
        opcode: e.g. ``sadd.s32``, ``dma.hbm_to_vmem``, ``sbr.rel``.
        predicate: name of the guarding predicate, or None; ``negated`` when it must be false.
        otherwise: value kept when the predicate does not hold (``smov (%p, %old), new`` is a select).
        operands: the rest of the text.
    """

    bundle: int
    dest: str | None
    opcode: str
    predicate: str | None
    negated: bool
    otherwise: str | None
    operands: str


@dataclass(frozen=True)
class Listing:
    """The parsed schedule of one fusion or kernel.

    Attributes:
        bundles: number of bundles, that is cycles of one pass without stalls.
        instructions: in order of bundles.
        starts, ends: bundle a region starts and ends at.
        labels: bundle to its control label (``LB``, ``PF``, ...).
        depths: loop depth per bundle as printed.
        matmuls: (bundle, operand type, number) of the instructions that stream rows through an MXU.
    """

    bundles: int
    instructions: tuple[Instruction, ...]
    starts: dict[int, int] = field(default_factory=dict[int, int])
    ends: dict[int, int] = field(default_factory=dict[int, int])
    labels: dict[int, str] = field(default_factory=dict[int, str])
    depths: tuple[int, ...] = ()
    matmuls: tuple[tuple[int, str, int], ...] = ()


def _instruction(bundle: int, text: str) -> Instruction | None:
    match = _OP.match(text)
    if match is None:
        return None
    dest, opcode, rest = match.groups()
    if dest is None and not opcode.startswith(_EFFECTS):
        return None
    if opcode == "inlined_call":
        callee = _CALLEE.search(rest)
        return Instruction(
            bundle, None, opcode, None, False, None, (callee.group(1) or callee.group(2)) if callee else ""
        )
    # Comments name operands and may hold whole tables, nested once; what follows the last operand is dropped.
    rest = _COMMENT.sub("", rest).partition("/*")[0]
    predicate = None
    negated = False
    otherwise = None
    if "(" in rest:
        guard = _PREDICATE.search(rest)
        if guard is not None:
            negated, predicate, otherwise = guard.group(1) == "!", guard.group(2), guard.group(3)
            rest = rest[: guard.start()] + rest[guard.end() :].lstrip(" ,")
    return Instruction(bundle, dest, opcode, predicate, negated, otherwise, rest.strip())


def parse_bundles(text: str) -> Listing:
    """Parse the text of a ``final_bundles`` dump.

    Raises:
        UnknownFormatError: no bundle line was found, or their numbers do not run from 0.
    """
    instructions: list[Instruction] = []
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    labels: dict[int, str] = {}
    depths: list[int] = []
    matmuls: list[tuple[int, str, int]] = []
    heads = list(_HEAD.finditer(text))
    for at, head in enumerate(heads):
        bundle = int(head.group(1), 16)
        if bundle != len(depths):
            raise UnknownFormatError("final_bundles", f"bundle {bundle} follows bundle {len(depths) - 1}")
        depths.append(head.group(3).count(">"))
        if head.group(2):
            labels[bundle] = head.group(2)
        body, _, tail = text[head.end() : heads[at + 1].start() if at + 1 < len(heads) else len(text)].rpartition("}")
        for mark, region in _REGION.findall(tail):
            if mark != "End region":
                starts.setdefault(int(region), bundle)
            if mark != "Start region":
                ends[int(region)] = bundle
        if "vmatmul" in body:
            matmuls += [(bundle, kind, found) for kind, found in Counter(_MATMUL.findall(body)).items()]
        for part in body.split(" ;; "):
            instruction = _instruction(bundle, part.strip())
            if instruction is not None:
                instructions.append(instruction)
    if not depths:
        raise UnknownFormatError("final_bundles", "no bundle lines")
    return Listing(len(depths), tuple(instructions), starts, ends, labels, tuple(depths), tuple(matmuls))


def branch_target(listing: Listing, instruction: Instruction) -> int:
    """Return the bundle a branch goes to.

    Raises:
        UnknownFormatError: the target is written in no known way.
    """
    region = branch_region(instruction)
    if region in listing.starts:
        start = listing.starts[region]
        # Instructions hoisted into an earlier bundle make a region start before the bundle control arrives at, which
        # carries a label.
        return next((at for at in range(start, min(start + 64, listing.bundles)) if at in listing.labels), start)
    raise UnknownFormatError("final_bundles", f"branch without a known target: {instruction.operands[:60]}")


def branch_region(instruction: Instruction) -> int | None:
    """Return the region a branch names, where it does.

    The ``bundleno`` some versions print beside it counts bundles this listing does not show, so it is of no use.
    """
    match = _TARGET.search(instruction.operands)
    return int(match.group(1)) if match else None
