"""Describes one ``pallas_call``: grid, operands, blocks, memory spaces, transfers, compiler parameters.

Reads jax's grid and block mappings; the names there differ between jax versions, so every read has a fallback.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from maxkernel_tools.records.arrays import DTYPES
from maxkernel_tools.worker.inspecting.grids import Dim, Visits, visits
from maxkernel_tools.worker.inspecting.lines import Place, function_place
from maxkernel_tools.worker.inspecting.walking import open_jaxpr

_SHORT = {name: short for short, (name, _) in DTYPES.items()}
_SPACES = {"default": "vmem", "index": "smem", "semaphore_mem": "semaphore", "hbm": "hbm", "any": "any", "key": "smem"}


@dataclass(frozen=True)
class Operand:
    """One reference the kernel body gets.

    Attributes:
        name: ``in0``, ``out0``, ``scratch0``, ``prefetch0``.
        argument: the name the body gives it.
        array: shape and dtype of the whole array (of the buffer, for scratch).
        block: extents of the block, empty where it is not blocked.
        space: ``vmem``, ``smem``, ``any``, ``hbm``, ``semaphore``.
        visits: what the block does over the grid.
        place: where its index map is written.
    """

    name: str
    kind: str
    argument: str
    shape: tuple[int, ...]
    dtype: str
    block: tuple[int, ...]
    dims: tuple[Dim, ...]
    space: str
    buffers: int
    visits: Visits | None
    place: Place | None = None
    origin: str = ""
    tiling: tuple[int, ...] = ()

    @property
    def array(self) -> str:
        """The array as text, like ``bf16[8,128]``."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Call:
    """One ``pallas_call`` with everything the other readers need."""

    eqn: Any
    body: Any
    grid: tuple[int | None, ...]
    operands: tuple[Operand, ...]
    semantics: tuple[str, ...] | None
    vmem_limit_bytes: int | None
    cost: Mapping[str, int] | None
    aliases: Mapping[int, int]
    interpret: bool
    name: str
    given_name: str | None
    function: Place | None
    place: Place | None
    trips: int

    @property
    def static_grid(self) -> tuple[int, ...] | None:
        """The grid where it is known, else None."""
        return tuple(int(g) for g in self.grid if g is not None) if None not in self.grid else None

    @property
    def steps(self) -> int | None:
        """Number of grid steps, where known."""
        return None if self.static_grid is None else prod(self.static_grid)


def dtype_name(dtype: Any) -> str:
    """Return the short spelling of a dtype; semaphores and other extended types keep their own name."""
    text = str(getattr(dtype, "name", dtype))
    return _SHORT.get(text, text)


def item_bits(dtype: str) -> int:
    """Bits per element of a short dtype name; 32 for what is not a number."""
    return DTYPES[dtype][1] if dtype in DTYPES else 32


def memory_space(aval: Any) -> str:
    """Return the memory space of a reference in our spelling."""
    space = getattr(aval, "memory_space", None)
    value = str(getattr(space, "value", space) or "default").lower()
    return _SPACES.get(value, value)


def describe_call(eqn: Any, kernel_file: str, place: Place | None, trips: int) -> Call:
    """Read the parameters of a ``pallas_call`` equation."""
    mapping = eqn.params["grid_mapping"]
    body = open_jaxpr(eqn.params["jaxpr"])
    grid = tuple(int(g) if isinstance(g, int | np.integer) else None for g in mapping.grid)
    compiler = _compiler_params(eqn.params.get("compiler_params"))
    semantics = compiler.get("dimension_semantics")
    limit = compiler.get("vmem_limit_bytes")
    names: list[str] = [str(name or "") for name in getattr(body.debug_info, "arg_names", None) or []]
    function = function_place(body.debug_info, kernel_file)
    given = eqn.params.get("name") or getattr(eqn.params.get("name_and_src_info"), "name", None)
    info = str(getattr(body.debug_info, "func_src_info", "") or "")
    return Call(
        eqn=eqn,
        body=body,
        grid=grid,
        operands=_operands(mapping, body, grid, names, kernel_file),
        semantics=None if semantics is None else tuple(_semantics(item) for item in semantics),
        vmem_limit_bytes=None if limit is None else int(limit),
        cost=_cost(eqn.params.get("cost_estimate")),
        aliases=_aliases(eqn.params.get("input_output_aliases")),
        interpret=bool(eqn.params.get("interpret", False)),
        name=str(given or info.partition(" at ")[0] or "kernel"),
        given_name=str(given) if given else None,
        function=function,
        place=place,
        trips=trips,
    )


def _aliases(value: Any) -> dict[int, int]:
    return {int(source): int(out) for source, out in value} if value else {}


def _semantics(item: Any) -> str:
    return str(getattr(item, "value", item)).lower().rsplit(".", 1)[-1]


def _compiler_params(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        for inner in value.values():
            found = _compiler_params(inner)
            if found:
                return found
        return {}
    fields = getattr(value, "__dataclass_fields__", None)
    return {} if fields is None else {name: getattr(value, name, None) for name in fields}


def _cost(value: Any) -> dict[str, int] | None:
    if value is None:
        return None
    read = {name: getattr(value, name, None) for name in ("flops", "bytes_accessed", "transcendentals")}
    return {name: int(number) for name, number in read.items() if isinstance(number, int | float | np.number)}


def _dim(block: Any, extent: int) -> Dim:
    kind = type(block).__name__
    if block is None or kind in ("Squeezed", "Mapped"):
        return Dim(size=1, extent=extent, squeezed=True)
    size = int(getattr(block, "block_size", block))
    padding = getattr(block, "padding", (0, 0))
    return Dim(
        size=size,
        extent=extent,
        element=kind == "Element",
        bounded=kind in ("BoundedSlice", "Indirect"),
        padding=(int(padding[0]), int(padding[1])),
    )


def _operands(
    mapping: Any, body: Any, grid: tuple[int | None, ...], names: list[str], kernel_file: str
) -> tuple[Operand, ...]:
    prefetched = int(getattr(mapping, "num_index_operands", 0))
    blocks = list(mapping.block_mappings)
    found: list[Operand] = []
    for position, variable in enumerate(body.invars):
        argument = names[position] if position < len(names) and names[position] else f"arg{position}"
        if position < prefetched:
            found.append(_plain(f"prefetch{position}", "prefetch", argument, variable.aval, "smem"))
            continue
        index = position - prefetched
        if index < len(blocks):
            is_input = index < mapping.num_inputs
            number = index if is_input else index - mapping.num_inputs
            name = f"in{number}" if is_input else f"out{number}"
            found.append(_blocked(name, argument, blocks[index], grid, kernel_file))
            continue
        number = index - len(blocks)
        found.append(_plain(f"scratch{number}", "scratch", argument, variable.aval, memory_space(variable.aval)))
    return tuple(found)


def _plain(name: str, kind: str, argument: str, aval: Any, space: str) -> Operand:
    shape = tuple(int(extent) for extent in getattr(aval, "shape", ()))
    return Operand(
        name=name,
        kind=kind,
        argument=argument,
        shape=shape,
        dtype=dtype_name(aval.dtype),
        block=(),
        dims=(),
        space=space,
        buffers=1,
        visits=None,
    )


def _blocked(name: str, argument: str, mapping: Any, grid: tuple[int | None, ...], kernel_file: str) -> Operand:
    array: Any = mapping.array_aval if hasattr(mapping, "array_aval") else mapping.array_shape_dtype
    shape = tuple(int(extent) for extent in array.shape)
    space = memory_space(mapping.transformed_block_aval)
    dims = tuple(_dim(block, extent) for block, extent in zip(mapping.block_shape, shape, strict=True))
    closed = mapping.index_map_jaxpr
    over = None
    if None not in grid and space not in ("any", "hbm", "semaphore"):
        over = visits(open_jaxpr(closed), getattr(closed, "consts", ()), [int(g or 0) for g in grid], dims)
    blocked = space not in ("any", "hbm", "semaphore")
    return Operand(
        name=name,
        kind="in" if name.startswith("in") else "out",
        argument=argument,
        shape=shape,
        dtype=dtype_name(array.dtype),
        block=tuple(dim.size for dim in dims) if blocked else (),
        dims=dims,
        space=space,
        buffers=_buffers(mapping, over, blocked),
        visits=over,
        place=function_place(open_jaxpr(closed).debug_info, kernel_file),
        origin=str(getattr(mapping, "origin", "")),
    )


def _buffers(mapping: Any, over: Visits | None, blocked: bool) -> int:
    if not blocked:
        return 0
    mode = getattr(mapping, "pipeline_mode", None)
    count = getattr(mode, "buffer_count", None)
    if isinstance(count, int):
        return count
    # A block whose index never changes is fetched once, so that the compiler keeps one copy.
    return 1 if over is not None and over.constant else 2
