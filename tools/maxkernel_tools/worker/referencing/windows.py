"""Evaluates the index maps of an exported kernel over its whole grid: which blocks of each array are visited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np
from jax._src.lib.mlir import ir

_MOST_STEPS: Final = 1 << 20
_Value = Any

_BINARY: Final[dict[str, Callable[[_Value, _Value], _Value]]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.divsi": lambda a, b: np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)),
    "arith.divui": lambda a, b: a // b,
    "arith.remsi": lambda a, b: np.sign(a) * (np.abs(a) % np.abs(b)),
    "arith.remui": lambda a, b: a % b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b,
    "arith.shrsi": lambda a, b: a >> b,
}
_COMPARE: Final[dict[int, Callable[[_Value, _Value], _Value]]] = {
    0: lambda a, b: a == b,
    1: lambda a, b: a != b,
    2: lambda a, b: a < b,
    3: lambda a, b: a <= b,
    4: lambda a, b: a > b,
    5: lambda a, b: a >= b,
    6: lambda a, b: a < b,
    7: lambda a, b: a <= b,
    8: lambda a, b: a > b,
    9: lambda a, b: a >= b,
}
_PASSING: Final = frozenset(("arith.index_cast", "arith.extui", "arith.extsi", "arith.trunci"))


def describe_windows(call: Any, main: Any, functions: Mapping[str, Any], grid: Sequence[int]) -> list[dict[str, Any]]:
    """Return per window its ``array``, ``block`` and, where its map is pure arithmetic, ``visited`` of ``blocks``.

    Args:
        call: the custom call, for the shapes of its operands and results.
        main: the kernel's function.
        functions: the module's functions by name, index maps among them.
        grid: iteration bounds.
    """
    if "window_params" not in {str(getattr(item, "name", item)) for item in main.attributes}:
        return []
    prefetch = int(ir.IntegerAttr(main.attributes["scalar_prefetch"]).value)
    arrays = [ir.ShapedType(value.type).shape for value in (*list(call.operands)[prefetch:], *call.results)]
    found: list[dict[str, Any]] = []
    for index, window in enumerate(ir.ArrayAttr(main.attributes["window_params"])):
        entry = ir.DictAttr(window)
        shape = [int(extent) for extent in arrays[index]] if index < len(arrays) else []
        block = [int(size) for size in ir.DenseI64ArrayAttr(entry["window_bounds"])] if "window_bounds" in entry else []
        described: dict[str, Any] = {"array": shape, "block": block, "visited": None, "blocks": None}
        if "transform_indices" in entry and block and len(block) == len(shape):
            name = ir.FlatSymbolRefAttr(entry["transform_indices"]).value
            described["blocks"] = prod(-(-extent // max(size, 1)) for extent, size in zip(shape, block, strict=True))
            described["visited"] = _visited(functions.get(name), grid)
        found.append(described)
    return found


def _visited(function: Any, grid: Sequence[int]) -> int | None:
    """Return how many distinct blocks the map names over the grid; None where it is not plain arithmetic."""
    steps = prod(grid)
    if function is None or steps > _MOST_STEPS or steps == 0:
        return None
    block = function.regions[0].blocks[0]
    axes = np.meshgrid(*(np.arange(extent, dtype=np.int64) for extent in grid), indexing="ij") if grid else []
    values: list[tuple[Any, _Value]] = []
    for position, argument in enumerate(block.arguments):
        if position < len(axes):
            values.append((argument, axes[position].ravel()))
    for inner in block.operations:
        operation = inner.operation
        if operation.name in ("func.return", "return"):
            columns = [_read(values, operand) for operand in operation.operands]
            if any(column is None for column in columns):
                return None
            table = np.stack([np.broadcast_to(column, (steps,)) for column in columns], axis=1)
            return len(np.unique(table, axis=0))
        result = _evaluate(operation, values)
        if result is None:
            return None
        values.append((operation.results[0], result))
    return None


def _evaluate(operation: Any, values: list[tuple[Any, _Value]]) -> _Value:
    if operation.name == "arith.constant":
        attribute = operation.attributes["value"]
        return np.int64(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else None
    operands = [_read(values, operand) for operand in operation.operands]
    if any(operand is None for operand in operands):
        return None
    if operation.name in _BINARY:
        with np.errstate(divide="ignore", invalid="ignore"):
            return _BINARY[operation.name](operands[0], operands[1])
    if operation.name in _PASSING:
        return np.asarray(operands[0], dtype=np.int64)
    if operation.name == "arith.cmpi":
        predicate = int(ir.IntegerAttr(operation.attributes["predicate"]).value)
        return np.asarray(_COMPARE[predicate](operands[0], operands[1]), dtype=np.int64)
    if operation.name == "arith.select":
        return np.where(np.asarray(operands[0]) != 0, operands[1], operands[2])
    return None


def _read(values: list[tuple[Any, _Value]], wanted: Any) -> _Value:
    return next((value for known, value in reversed(values) if known == wanted), None)
