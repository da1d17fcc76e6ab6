"""Integer formulas over named dims, as ``task.toml`` writes them. Owns the language; never calls ``eval``.

The language: integers, dim names, ``+ - * // %``, parentheses, ``min(a, b)``, ``max(a, b)``; a rule adds one comparison
(``Hq % Hkv == 0``). Anything else is refused when the task is read, not when it is used.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

_BINARY: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
}
_COMPARE: Final[dict[type[ast.cmpop], Callable[[int, int], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_CALLS: Final[dict[str, Callable[..., int]]] = {"min": min, "max": max}
_LONGEST: Final = 400
GRAMMAR: Final = "integers, dim names, + - * // %, parentheses, min(a, b) and max(a, b)."


class ExpressionError(ValueError):
    """A formula that is not in the language, names an unknown dim or divides by zero."""


def evaluate(text: str, dims: Mapping[str, int]) -> int:
    """Return the value of formula ``text`` with ``dims`` as its names.

    Raises:
        ExpressionError: with a sentence that says what is wrong with the formula.
    """
    return _value(_parse(text), dims, text)


def holds(rule: str, dims: Mapping[str, int]) -> bool:
    """Return whether ``rule``, a comparison of formulas such as ``Hq % Hkv == 0``, is true of ``dims``.

    Raises:
        ExpressionError: the rule is not a comparison, or one of its sides is not in the language.
    """
    node = _parse(rule)
    if not isinstance(node, ast.Compare):
        raise ExpressionError(f"{rule!r} is not a comparison")
    sides = [_value(side, dims, rule) for side in (node.left, *node.comparators)]
    for position, op in enumerate(node.ops):
        compare = _COMPARE.get(type(op))
        if compare is None:
            raise ExpressionError(f"{rule!r} compares with something other than == != < <= > >=")
        if not compare(sides[position], sides[position + 1]):
            return False
    return True


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ExpressionError(f"the formula is longer than {_LONGEST} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is not a formula") from None


def _value(node: ast.expr, dims: Mapping[str, int], text: str) -> int:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            if name not in dims:
                raise ExpressionError(f"{text!r} names {name!r}, which is not one of the dims {', '.join(dims)}")
            return dims[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = _value(left, dims, text), _value(right, dims, text)
            if isinstance(op, ast.FloorDiv | ast.Mod) and b == 0:
                raise ExpressionError(f"{text!r} divides by zero")
            return _BINARY[type(op)](a, b)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, dims, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS and len(args) >= 2:
            return _CALLS[name](*(_value(argument, dims, text) for argument in args))
        case _:
            raise ExpressionError(f"{text!r} holds {ast.unparse(node)!r}, which is not in the language")
