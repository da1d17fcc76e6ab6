"""Reads exported modules back, in a process that never ran the candidate.

What is compiled is these bytes, so what they say counts: how many kernels, over which grid, with which windows
visited in which order, doing which operations; and what happens outside the kernels. Plain JSON comes out; nothing is
judged here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from jax import export
from jax._src.interpreters import mlir
from jax._src.lib import tpu as tpu_dialect
from jax._src.lib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from maxkernel_tools.worker.referencing.windows import describe_windows

# what flatbuffers, MLIR and json raise on bytes that are no module
_UNREADABLE: Final = (ValueError, LookupError, RuntimeError, TypeError, AssertionError, OverflowError, struct.error)
_KERNEL: Final = "tpu_custom_call"
_HARMLESS: Final = frozenset((_KERNEL, "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "shape_assertion"))
_QUIET: Final = frozenset(("arith.constant", "func.return", "scf.yield", "vector.shape_cast"))
_MOST_OPERATIONS: Final = 200_000


def examine(data: bytes) -> dict[str, Any]:
    """Return what one exported module says.

    Returns:
        ``kernels`` (``name grid semantics windows operations sequence constants loops matmul_flops``), ``outside``
        (``operations custom_calls constant_bytes dot_flops``), ``outputs_from_kernel``. On a module that cannot be
        read: ``unreadable`` with the reason.
    """
    try:
        text = export.deserialize(bytearray(data)).mlir_module()
        context = mlir.make_ir_context()
        tpu_dialect.register_dialect(context)
        context.load_all_available_dialects()
        context.allow_unregistered_dialects = True
        with context:
            return _module(ir.Module.parse(text))
    except (*_UNREADABLE, ir.MLIRError) as error:
        return {"unreadable": f"{type(error).__name__}: {str(error)[:300]}"}


def _module(module: Any) -> dict[str, Any]:
    kernels: list[dict[str, Any]] = []
    operations: dict[str, int] = {}
    custom: dict[str, int] = {}
    constant_bytes, dot_flops = 0, 0
    for operation in _walk(module.operation):
        name = operation.name
        operations[name] = operations.get(name, 0) + 1
        if name == "stablehlo.custom_call":
            target = ir.StringAttr(operation.attributes["call_target_name"]).value
            custom[target] = custom.get(target, 0) + 1
            if target == _KERNEL:
                kernels.append(_kernel(operation))
        elif name == "stablehlo.constant":
            constant_bytes += _constant_bytes(operation)
        elif name == "stablehlo.dot_general":
            dot_flops += _dot_flops(operation)
    return {
        "kernels": kernels,
        "outside": {
            "operations": operations,
            "custom_calls": {name: count for name, count in custom.items() if name not in _HARMLESS},
            "constant_bytes": constant_bytes,
            "dot_flops": dot_flops,
        },
        "outputs_from_kernel": _outputs_from_kernel(module),
    }


def _walk(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _walk(inner.operation)


def _kernel(call: Any) -> dict[str, Any]:
    config = json.loads(ir.StringAttr(call.attributes["backend_config"]).value)
    body = base64.b64decode(config["custom_call_config"]["body"])
    module = ir.Module.parse(body)
    PassManager.parse("builtin.module(mosaic-serde{serialize=false})").run(module.operation)
    functions = {_symbol(inner): inner.operation for inner in module.body.operations}
    bounded = [function for function in functions.values() if "iteration_bounds" in _names(function)]
    main = bounded[0] if bounded else next(iter(functions.values()))
    grid = _integers(main, "iteration_bounds")
    sequence: list[str] = []
    constants: list[float] = []
    loops: list[int | None] = []
    flops = _read_body(main, sequence, constants, loops)
    steps = int(np.prod(grid, dtype=np.int64)) if grid else 1
    return {
        "name": _symbol(main),
        "grid": grid,
        "semantics": _semantics(main),
        "windows": describe_windows(call, main, functions, grid),
        "operations": sorted(set(sequence)),
        "sequence": hashlib.sha256("\n".join(sequence).encode()).hexdigest(),
        "length": len(sequence),
        "constants": constants[:64],
        "loops": loops[:64],
        "matmul_flops": flops * steps,
    }


def _read_body(operation: Any, sequence: list[str], constants: list[float], loops: list[int | None]) -> int:
    """Collect operations in order with element types but no extents; return matmul flops of one run."""
    flops = 0
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                one = inner.operation
                if len(sequence) > _MOST_OPERATIONS:
                    return flops
                if one.name == "arith.constant":
                    constants += _float_value(one)
                if one.name not in _QUIET:
                    types = ",".join(_element(result.type) for result in one.results)
                    sequence.append(f"{one.name}:{types}:{_flavour(one)}")
                trips = _trips(one) if one.name == "scf.for" else 1
                if one.name == "scf.for":
                    loops.append(trips)
                flops += _matmul_flops(one) if one.name == "tpu.matmul" else 0
                nested = len(one.regions) > 0
                sequence += ["("] * nested
                flops += (trips or 1) * _read_body(one, sequence, constants, loops)
                sequence += [")"] * nested
    return flops


def _flavour(operation: Any) -> str:
    """What tells two operations of one name apart: a comparison's predicate, a reduction's kind."""
    kept = [name for name in ("predicate", "kind", "dimension_numbers", "dimension") if name in _names(operation)]
    return ";".join(str(operation.attributes[name]) for name in kept)


def _trips(loop: Any) -> int | None:
    bounds = [_constant_integer(operand) for operand in list(loop.operands)[:3]]
    if len(bounds) < 3 or None in bounds or not bounds[2]:
        return None
    low, high, step = (int(bound or 0) for bound in bounds)
    return max(0, -(-(high - low) // step))


def _constant_integer(value: Any) -> int | None:
    owner = getattr(value.owner, "name", None)
    if owner != "arith.constant":
        return None
    attribute = value.owner.attributes["value"]
    return int(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else None


def _float_value(operation: Any) -> list[float]:
    attribute = operation.attributes["value"]
    if isinstance(attribute, ir.FloatAttr):
        return [float(ir.FloatAttr(attribute).value)]
    if isinstance(attribute, ir.DenseFPElementsAttr) and ir.DenseElementsAttr(attribute).is_splat:
        splat = ir.DenseElementsAttr(attribute).get_splat_value()
        return [float(ir.FloatAttr(splat).value)]
    return []


def _matmul_flops(operation: Any) -> int:
    left_size, right = _size(operation.operands[0].type), _size(operation.operands[1].type)
    size = _size(operation.results[0].type)
    # for C[m,n] = A[m,k] B[k,n] the three sizes give k without reading which axes are contracted
    inner = round((left_size * right / max(size, 1)) ** 0.5)
    return 2 * size * inner


def _size(kind: Any) -> int:
    return int(np.prod(ir.ShapedType(kind).shape, dtype=np.int64))


def _dot_flops(operation: Any) -> int:
    sizes = [
        int(np.prod(ir.ShapedType(operand.type).shape, dtype=np.int64)) for operand in list(operation.operands)[:2]
    ]
    size = int(np.prod(ir.ShapedType(operation.results[0].type).shape, dtype=np.int64))
    return 2 * size * round((sizes[0] * sizes[1] / max(size, 1)) ** 0.5)


def _constant_bytes(operation: Any) -> int:
    kind = ir.ShapedType(operation.results[0].type)
    attribute = operation.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr) and ir.DenseElementsAttr(attribute).is_splat:
        return 0
    return int(np.prod(kind.shape, dtype=np.int64)) * 4


def _outputs_from_kernel(module: Any) -> list[bool]:
    functions = {
        _symbol(inner): inner.operation for inner in module.body.operations if inner.operation.name == "func.func"
    }
    touching: set[str] = set()
    for _ in range(len(functions) + 1):
        for name, function in functions.items():
            if any(_is_kernel(inner, touching) for inner in _walk(function)):
                touching.add(name)
    main = functions.get("main")
    if main is None:
        return []
    tainted: list[Any] = []
    for inner in main.regions[0].blocks[0].operations:
        operation = inner.operation
        inside = _is_kernel(operation, touching) or any(_is_kernel(deep, touching) for deep in _walk(operation))
        if operation.name == "func.return":
            return [any(operand == value for value in tainted) for operand in operation.operands]
        if inside or any(operand == value for operand in operation.operands for value in tainted):
            tainted += list(operation.results)
    return []


def _is_kernel(operation: Any, touching: set[str]) -> bool:
    if operation.name == "stablehlo.custom_call":
        return ir.StringAttr(operation.attributes["call_target_name"]).value == _KERNEL
    if operation.name in ("func.call", "call"):
        return ir.FlatSymbolRefAttr(operation.attributes["callee"]).value in touching
    return False


def _semantics(function: Any) -> list[str]:
    if "dimension_semantics" not in _names(function):
        return []
    found = [str(item) for item in ir.ArrayAttr(function.attributes["dimension_semantics"])]
    return [text.split("<")[-1].rstrip(">") for text in found]


def _integers(function: Any, name: str) -> list[int]:
    if name not in _names(function):
        return []
    return [int(value) for value in ir.DenseI64ArrayAttr(function.attributes[name])]


def _names(operation: Any) -> set[str]:
    attributes: Mapping[str, Any] = operation.attributes
    return {str(getattr(item, "name", item)) for item in attributes}


def _symbol(operation: Any) -> str:
    return ir.StringAttr(operation.operation.attributes["sym_name"]).value


def _element(kind: Any) -> str:
    try:
        return str(ir.ShapedType(kind).element_type)
    except ValueError:
        return str(kind).split("<")[0]
