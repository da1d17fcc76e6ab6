"""Semantics of the scalar instructions that steer a schedule: what a predicate, an address or a size comes to.

Values are Python ints of 32 bits, or None where they depend on data nobody gave. Unknown in, unknown out, except where
one known operand decides (``pand`` with a false one).
"""

from __future__ import annotations

import re
from collections.abc import Callable

Value = int | None

_MASK = 0xFFFFFFFF
_ALLOCATION = re.compile(r"\[#allocation(\d+)(?:_spill)?(?: \+ (\$?0x[0-9a-f]+|\$?\d+))?\]")
OPERAND = re.compile(r"%(?P<name>\w+)|(?P<number>0x[0-9a-f]+|-?\d+)|(?P<allocation>\[#allocation[^\]]*\])")


def allocation_address(text: str) -> int | None:
    """Return a number for ``[#allocation4 + $0x1]``: allocations are told apart, offsets inside them are exact."""
    match = _ALLOCATION.match(text)
    if match is None:
        return None
    offset = match.group(2)
    return (int(match.group(1)) + 1 << 40) + (int(offset.lstrip("$"), 0) if offset else 0)


def split_operands(text: str) -> list[str]:
    """Split the operand text of an instruction into names, numbers and allocations."""
    if text.startswith("[thread"):
        text = text.partition("]")[2]
    parts: list[str] = []
    depth = 0
    current = ""
    for char in text:
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    parts.append(current.strip())
    return [part for part in parts if part]


def _signed(value: int) -> int:
    value &= _MASK
    return value - (1 << 32) if value & 0x80000000 else value


def _plain(function: Callable[[int, int], int]) -> Callable[[Value, Value], Value]:
    def apply(left: Value, right: Value) -> Value:
        return None if left is None or right is None else function(left, right)

    return apply


def _add(left: int, right: int) -> int:
    # Addresses keep their allocation in the high bits; plain numbers wrap.
    total = left + right
    return total & _MASK if total < 1 << 40 else (total & ~_MASK) | (total & _MASK)


def _shift_left(left: int, right: int) -> int:
    return left << right if left >= 1 << 40 else (left << right) & _MASK


def _shift_right(left: int, right: int) -> int:
    return left >> right


def _divide(left: int, right: int) -> int:
    return left // right if right else 0


def _modulo(left: int, right: int) -> int:
    return left % right if right else 0


def _and(left: Value, right: Value) -> Value:
    if left == 0 or right == 0:
        return 0
    return None if left is None or right is None else left & right


def _predicate_or(left: Value, right: Value) -> Value:
    if left == 1 or right == 1:
        return 1
    return None if left is None or right is None else left | right


def _predicate_nand(left: Value, right: Value) -> Value:
    both = _and(left, right)
    return None if both is None else 1 - both


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda left, right: left & _MASK == right & _MASK if left < 1 << 40 else left == right,
    "ne": lambda left, right: left & _MASK != right & _MASK if left < 1 << 40 else left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
}

BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "sadd": _plain(_add),
    "ssub": _plain(lambda left, right: _add(left, -right)),
    "smul": _plain(lambda left, right: left * right & _MASK),
    "sand": _and,
    "sor": _plain(lambda left, right: left | right),
    "sxor": _plain(lambda left, right: left ^ right),
    "sshll": _plain(_shift_left),
    "sshrl": _plain(_shift_right),
    "sshra": _plain(lambda left, right: (_signed(left) >> right) & _MASK),
    "smin": _plain(min),
    "smax": _plain(max),
    "sdiv": _plain(_divide),
    "srem": _plain(_modulo),
    "smod": _plain(_modulo),
    "sdivrem": _plain(_divide),
    "por": _predicate_or,
    "pand": _and,
    "pnand": _predicate_nand,
    "pxor": _plain(lambda left, right: left ^ right),
    "scalar_lea": _plain(_add),
}
# Where signedness matters, by the opcode's own suffix.
_SIGNED_BINARY: dict[str, Callable[[int, int], int]] = {
    "smin": lambda left, right: min(_signed(left), _signed(right)) & _MASK,
    "smax": lambda left, right: max(_signed(left), _signed(right)) & _MASK,
}


def binary(opcode: str) -> Callable[[Value, Value], Value] | None:
    """Return the function of a two-operand scalar opcode, or None where it is not known."""
    base, _, kind = opcode.partition(".")
    if base == "scmp":
        relation, _, kind = kind.partition(".")
        compare = COMPARE.get(relation)
        if compare is None:
            return None
        signed = kind.startswith("s32")
        return _comparison(compare, signed=signed)
    if kind.startswith("s32") and base in _SIGNED_BINARY:
        return _plain(_SIGNED_BINARY[base])
    return BINARY.get(base)


def _comparison(compare: Callable[[int, int], bool], *, signed: bool) -> Callable[[Value, Value], Value]:
    def apply(left: Value, right: Value) -> Value:
        if left is None or right is None:
            return None
        if signed and left < 1 << 40 and right < 1 << 40:
            left, right = _signed(left), _signed(right)
        return int(compare(left, right))

    return apply
