"""Names and lines of a traced kernel's arguments: which lines store to which output, who waits on which semaphore.

Read from the jaxpr inside the candidate's process, so it serves to explain what a check found elsewhere; it decides
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jax._src import source_info_util

from maxkernel_tools.records.kernels import CANDIDATE_FILE_NAME
from maxkernel_tools.worker.interpreting.rewriting import KERNEL_PRIMITIVES

_LOADS = frozenset({"get", "masked_load", "load"})
_STORES = frozenset({"swap", "masked_swap", "addupdate", "store"})


def kernel_lines(source_info: Any) -> tuple[int, ...]:
    """Return lines of the kernel file in ``source_info``, innermost first."""
    if source_info is None or getattr(source_info, "traceback", None) is None:
        return ()
    frames = source_info_util.user_frames(source_info.traceback)
    return tuple(
        frame.start_line
        for frame in frames
        if frame.file_name == CANDIDATE_FILE_NAME or frame.file_name.endswith("/" + CANDIDATE_FILE_NAME)
    )


def first_line(source_info: Any) -> int | None:
    """Return the innermost line of the kernel file, or None."""
    lines = kernel_lines(source_info)
    return lines[0] if lines else None


@dataclass
class KernelAnatomy:
    """One kernel call: its operands in the kernel's argument order, and what its body does to them.

    Attributes:
        operands: ``name``, ``kind`` (``prefetch|in|out|scratch``), ``space``, ``shape``, and of a window ``block``,
            ``array`` and whether its last block ``overhangs`` the array.
        loads: lines that read each operand. ``stores``: lines that write it.
        starts: (line, semaphore) of copies started. ``waits``: (line, semaphore) waited on.
    """

    name: str
    line: int | None
    operands: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    aliases: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    loads: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    stores: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    starts: list[tuple[int | None, str]] = field(default_factory=list[tuple["int | None", str]])
    waits: list[tuple[int | None, str]] = field(default_factory=list[tuple["int | None", str]])
    prng_lines: list[int] = field(default_factory=list[int])
    primitives: set[str] = field(default_factory=set[str])

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "name": self.name,
            "line": self.line,
            "operands": self.operands,
            "aliases": [list(pair) for pair in self.aliases],
            "loads": self.loads,
            "stores": self.stores,
            "starts": [list(item) for item in self.starts],
            "waits": [list(item) for item in self.waits],
            "prng_lines": self.prng_lines,
            "primitives": sorted(self.primitives),
        }


def anatomies(closed_jaxpr: Any) -> list[KernelAnatomy]:
    """Return one anatomy per kernel call, in program order."""
    return [anatomy(equation) for equation in kernel_equations(closed_jaxpr)]


def kernel_equations(closed_jaxpr: Any) -> Iterator[Any]:
    """Yield every kernel call of a jaxpr, nested ones too."""
    for equation in closed_jaxpr.eqns:
        if equation.primitive.name in KERNEL_PRIMITIVES:
            yield equation
        else:
            for sub in sub_jaxprs(equation.params):
                yield from kernel_equations(sub)


def sub_jaxprs(params: Any) -> Iterator[Any]:
    """Yield the jaxprs among an equation's parameters."""
    values = params.values() if hasattr(params, "values") else params
    for value in values:
        if hasattr(value, "eqns"):
            yield value
        elif type(value) in (tuple, list):
            yield from sub_jaxprs(value)


def anatomy(equation: Any) -> KernelAnatomy:
    """Read one kernel call."""
    params = equation.params
    jaxpr = params["jaxpr"] if "jaxpr" in params else next(sub_jaxprs(params))
    result = KernelAnatomy(name=str(params.get("name") or "kernel"), line=first_line(equation.source_info))
    result.operands = _operands(params.get("grid_mapping"), jaxpr)
    result.aliases = [(int(i), int(o)) for i, o in params.get("input_output_aliases") or ()]
    names = {id(var): operand["name"] for var, operand in zip(jaxpr.invars, result.operands, strict=False)}
    _walk(jaxpr, names, result)
    return result


def _operands(mapping: Any, jaxpr: Any) -> list[dict[str, Any]]:
    arg_names = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None) or ()
    operands: list[dict[str, Any]] = []
    for position, var in enumerate(jaxpr.invars):
        name = str(arg_names[position]) if position < len(arg_names) and arg_names[position] else f"arg{position}"
        aval = var.aval
        operand: dict[str, Any] = {
            "name": name,
            "kind": "scratch",
            "space": _space(aval),
            "shape": [int(extent) for extent in getattr(aval, "shape", ())],
            "overhangs": False,
        }
        if mapping is not None:
            block_index = position - mapping.num_index_operands
            if block_index < 0:
                operand["kind"] = "prefetch"
            elif block_index < mapping.num_inputs + mapping.num_outputs:
                operand["kind"] = "in" if block_index < mapping.num_inputs else "out"
                _describe_window(operand, mapping.block_mappings[block_index])
        operands.append(operand)
    return operands


def _describe_window(operand: dict[str, Any], block_mapping: Any) -> None:
    array = getattr(block_mapping, "array_aval", None) or getattr(block_mapping, "array_shape_dtype", None)
    shape = [int(extent) for extent in getattr(array, "shape", ())]
    block = [_extent(part) for part in block_mapping.block_shape]
    operand["array"] = shape
    operand["block"] = block
    pairs = zip(shape, block, strict=False)
    operand["overhangs"] = any(size > 0 and extent % size for extent, size in pairs)
    space = getattr(getattr(block_mapping, "transformed_block_aval", None), "memory_space", None)
    operand["space"] = _space_name(space) if space is not None else operand["space"]


def _extent(part: Any) -> int:
    if part is None:
        return 1
    size = getattr(part, "block_size", part)
    return int(size) if isinstance(size, int) else 1


def _space(aval: Any) -> str:
    return _space_name(getattr(aval, "memory_space", None))


def _space_name(space: Any) -> str:
    text = str(getattr(space, "value", space)).lower()
    if "sem" in text:
        return "semaphore"
    if text in ("any", "hbm"):
        return "hbm"
    return "smem" if "smem" in text else "vmem"


def _walk(jaxpr: Any, names: dict[int, str], result: KernelAnatomy) -> None:
    for equation in jaxpr.eqns:
        primitive = equation.primitive.name
        result.primitives.add(primitive)
        refs = [names[id(var)] for var in equation.invars if id(var) in names]
        line = first_line(equation.source_info)
        if primitive in _LOADS and refs and line:
            _add(result.loads, refs[0], line)
        elif primitive in _STORES and refs and line:
            _add(result.stores, refs[0], line)
            if equation.outvars and type(equation.outvars[0]).__name__ != "DropVar":
                _add(result.loads, refs[0], line)
        elif primitive == "dma_start":
            _note_copy(equation, names, line, result)
        elif primitive in ("dma_wait", "semaphore_wait"):
            result.waits.append((line, _semaphore(equation, names)))
        elif primitive == "prng_random_bits" and line:
            result.prng_lines.append(_first_use(jaxpr, equation) or line)
        for sub in sub_jaxprs(equation.params):
            _walk(sub, {**names, **_inner_names(equation, sub, names)}, result)


def _first_use(jaxpr: Any, drawing: Any) -> int | None:
    """Line of the first equation that takes what ``drawing`` gave: there the bits' being zeros starts to matter."""
    for equation in jaxpr.eqns:
        if any(var is given for var in equation.invars for given in drawing.outvars):
            return first_line(equation.source_info)
    return None


def _inner_names(equation: Any, sub: Any, names: dict[int, str]) -> dict[int, str]:
    outer = list(equation.invars)
    constvars = list(getattr(sub, "constvars", ()))
    invars = list(sub.invars)
    found: dict[int, str] = {}
    if constvars and len(constvars) == len(outer):
        pairs = list(zip(constvars, outer, strict=True))
        arg_names = getattr(getattr(sub, "debug_info", None), "arg_names", None) or ()
        for position, var in enumerate(invars):  # run_scoped allocates these
            if position < len(arg_names) and arg_names[position]:
                found[id(var)] = str(arg_names[position])
    else:
        # cond passes its predicate first; every other primitive passes operands in order, trailing ones aligned
        pairs = list(zip(reversed(invars), reversed(outer), strict=False))
    for inner, given in pairs:
        if id(given) in names:
            found[id(inner)] = names[id(given)]
    return found


def _semaphore(equation: Any, names: dict[int, str]) -> str:
    for var in equation.invars:
        if id(var) in names and _space(var.aval) == "semaphore":
            return names[id(var)]
    return ""


def _note_copy(equation: Any, names: dict[int, str], line: int | None, result: KernelAnatomy) -> None:
    result.starts.append((line, _semaphore(equation, names)))
    buffers = [names[id(var)] for var in equation.invars if id(var) in names and _space(var.aval) != "semaphore"]
    if line and buffers:
        _add(result.loads, buffers[0], line)
        _add(result.stores, buffers[-1], line)


def _add(table: dict[str, list[int]], name: str, line: int) -> None:
    lines = table.setdefault(name, [])
    if line not in lines:
        lines.append(line)
