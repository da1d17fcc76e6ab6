"""The text that goes into a blueprint's placeholders. Owns names and layout of generated code, nothing else."""

from __future__ import annotations

import re
import textwrap

from maxkernel_orchestrators.authoring.blocks import ChipFacts, MatmulBlocks
from maxkernel_orchestrators.authoring.expressions import SideInput
from maxkernel_orchestrators.authoring.graphs import Graph, Unrecognised
from maxkernel_orchestrators.authoring.matmuls import Matmul, Operand
from maxkernel_orchestrators.authoring.rows import RowWork
from maxkernel_tools.records.arrays import DTYPES


def jnp_dtype(dtype: str) -> str:
    """The ``jax.numpy`` name of a short dtype."""
    return "jnp.bool_" if dtype == "pred" else f"jnp.{DTYPES[dtype][0]}"


def kernel_name(label: str) -> str:
    """A stable identifier for profiles, from the workload's label."""
    name = re.sub(r"\W+", "_", label).strip("_").lower()[:48] or "kernel"
    return f"k{name}" if name[0].isdigit() else name


def tidy(source: str) -> str:
    """Re-wrap the module docstring's paragraphs and drop an import the body does not use."""
    _, docstring, rest = source.split('"""', 2)
    paragraphs = [textwrap.fill(" ".join(part.split()), 118) for part in docstring.strip().split("\n\n")]
    if "lax." not in rest:
        rest = rest.replace("from jax import lax\n", "")
    return '"""' + "\n\n".join(paragraphs) + '\n"""' + rest


def matmul_fields(
    work: Matmul, graph: Graph, choices: list[MatmulBlocks], chip: ChipFacts, label: str
) -> dict[str, str]:
    """Values for the two matmul blueprints."""
    best = choices[0]
    rows_outer = best.walk != "columns-outer"
    stepped = best.walk == "k-steps"
    order = "i, j, s" if stepped else "i, j" if rows_outer else "j, i"
    names = [work.lhs.name, work.rhs.name] + [side.name for side in work.sides]
    refs = _unique_refs(names)
    views, calls = _matmul_views(work, graph)
    signature = ", ".join([*graph.names, *(f"{name}={value}" for name, value in best.params.items())])
    trivial = work.finish.text == "product" and not work.lines
    epilogue, finish = ("", "product") if trivial else _epilogue(work, refs[2:], stepped=stepped)
    return _common(label, chip, best.params, _space([choice.params for choice in choices])) | {
        "what": _matmul_what(work, trivial),
        "outer_name": "bands of rows" if rows_outer else "bands of columns",
        "inner_name": "bands of columns" if rows_outer else "bands of rows",
        "resident": "left" if rows_outer else "right",
        "epilogue_note": (
            ("stores it" if stepped else "it is rounded")
            if trivial
            else ("applies the epilogue" if stepped else "the epilogue is applied to it")
        ),
        "accumulator_note": "the tile is float32" if not work.integer else "the tile is int32",
        "epilogue": epilogue,
        "kernel_arguments": ", ".join([*refs, "out_ref"]),
        "lhs_read": _operand_read(work.lhs, refs[0]),
        "rhs_read": _operand_read(work.rhs, refs[1], "..." if stepped else (":, at", "at, :")[work.rhs.contract]),
        "lhs_contract": f"({work.lhs.contract},)",
        "rhs_contract": f"({work.rhs.contract},)",
        "lhs_axis": str(work.lhs.contract),
        "rhs_axis": str(work.rhs.contract),
        "accumulator": "jnp.int32" if work.integer else "jnp.float32",
        "finish": finish,
        "signature": signature,
        "views": views,
        "lhs_extents": f"{calls[0]}.shape" if work.lhs.contract == 1 else f"{calls[0]}.shape[::-1]",
        "rhs_extent": f"{calls[1]}.shape[{1 - work.rhs.contract}]",
        "order": order,
        "grid": "(pl.cdiv(m, block_m), pl.cdiv(n, block_n))"
        if rows_outer
        else "(pl.cdiv(n, block_n), pl.cdiv(m, block_m))",
        "in_specs": _matmul_specs(work, order, stepped),
        "out_dtype": (out_dtype := _out_dtype(work.out_dtype, work.lhs.stored, work.lhs.name)),
        "bytes_accessed": _traffic(calls, "m * n", out_dtype),
        "transcendentals": f"{work.transcendentals} * m * n" if work.transcendentals else "0",
        "call_arguments": ", ".join(calls),
        "result": _matmul_result(work),
    }


def row_fields(
    work: RowWork, graph: Graph, choices: list[dict[str, int]], chip: ChipFacts, label: str
) -> dict[str, str]:
    """Values for the row blueprint."""
    refs = _unique_refs([side.name for side in work.inputs])
    first = next(side for side in work.inputs if side.kind == "full")
    trailing = f"{first.name}.shape[-1]" if work.trailing == 1 else f"math.prod({first.name}.shape[-{work.trailing}:])"
    views: list[str] = [] if work.trailing == 1 else ["import math", ""]
    calls: list[str] = []
    specs: list[str] = []
    for side in work.inputs:
        shape, spec = {
            "full": (f"-1, {trailing}", "(block_rows, columns), lambda i: (i, 0)"),
            "row": ("1, -1", "(1, columns), lambda i: (0, 0)"),
            "column": ("-1, 1", "(block_rows, 1), lambda i: (i, 0)"),
            "scalar": ("1, 1", "(1, 1), lambda i: (0, 0)"),
        }[side.kind]
        view = f"{side.name}_{'rows' if side.kind == 'full' else side.kind}"
        views.append(f"{view} = {side.name}.reshape({shape})")
        calls.append(view)
        specs.append(f"pl.BlockSpec({spec}),")
    full_out = work.out_kind == "full"
    body = list(work.lines)
    if "columns" in " ".join([*body, work.finish.text]):
        body.insert(0, f"columns = {first.name}.shape[-1]")
    body.append(f"return {work.finish.text}")
    return _common(label, chip, choices[0], _space(choices)) | {
        "what": _wrap(f"Reads {', '.join(side.name for side in work.inputs)}; every row is independent of the others."),
        "row_arguments": ", ".join(side.name for side in work.inputs),
        "row_body": textwrap.indent("\n".join(body), "    "),
        "kernel_arguments": ", ".join([*refs, "out_ref"]),
        "row_reads": ", ".join(_side_read(graph, side, ref) for side, ref in zip(work.inputs, refs, strict=True)),
        "signature": ", ".join([*graph.names, f"BLOCK_ROWS={choices[0]['BLOCK_ROWS']}"]),
        "views": textwrap.indent("\n".join(views), "    "),
        "extents": f"{first.name}_rows.shape",
        "in_specs": textwrap.indent("\n".join(specs), " " * 12),
        "out_spec": "pl.BlockSpec((block_rows, columns), lambda i: (i, 0))"
        if full_out
        else "pl.BlockSpec((block_rows, 1), lambda i: (i, 0))",
        "out_extents": "(m, columns)" if full_out else "(m, 1)",
        "out_dtype": (out_dtype := _out_dtype(work.out_dtype, graph.specs[first.value].dtype, first.name)),
        "operations": str(work.operations),
        "bytes_accessed": _traffic(calls, "m * columns" if full_out else "m", out_dtype),
        "transcendentals": f"{work.transcendentals} * m * columns" if work.transcendentals else "0",
        "call_arguments": ", ".join(calls),
        "result": _row_result(work, first),
    }


def _common(label: str, chip: ChipFacts, params: dict[str, int], space: str) -> dict[str, str]:
    mib = chip.usable_vmem >> 20
    return {
        "title": f"{label}: a Pallas kernel from the built-in author's blueprint.",
        "params": _dict(params),
        "space": space,
        "vmem_limit": f"{mib} * 2**20",
        "vmem_mib": str(chip.vmem_bytes >> 20),
        "target": chip.target,
        "workload_doc": "Run the kernel; the keyword arguments are the block shape.",
        "name": kernel_name(label),
    }


def _dict(params: dict[str, int]) -> str:
    return "{" + ", ".join(f'"{name}": {value}' for name, value in params.items()) + "}"


def _space(choices: list[dict[str, int]]) -> str:
    values = {name: sorted({choice[name] for choice in choices if name in choice}) for name in choices[0]}
    return "{" + ", ".join(f'"{name}": {options}' for name, options in values.items()) + "}"


def _wrap(text: str) -> str:
    return textwrap.fill(text, 118)


def _unique_refs(names: list[str]) -> list[str]:
    refs: list[str] = []
    for name in names:
        ref = f"{name}_ref"
        refs.append(ref if ref not in refs else f"{name}_side_ref")
    return refs


def _matmul_what(work: Matmul, trivial: bool) -> str:
    left = work.lhs.name if work.lhs.contract == 1 else f"{work.lhs.name}.T"
    right = work.rhs.name if work.rhs.contract == 0 else f"{work.rhs.name}.T"
    extra = "" if trivial else " followed by elementwise work, fused: the product never goes to memory"
    return _wrap(f"{left} @ {right}{extra}. Sums are taken in {'int32' if work.integer else 'float32'}.")


def _operand_read(operand: Operand, ref: str, at: str = "...") -> str:
    cast = "" if operand.dtype == operand.stored else f".astype({jnp_dtype(operand.dtype)})"
    return f"{ref}[{at}]{cast}"


def _side_read(graph: Graph, side: SideInput, ref: str) -> str:
    dtype = graph.specs[side.value].dtype
    if dtype.startswith(("f", "bf")):
        return f"{ref}[...].astype(jnp.float32)"
    if dtype.startswith(("s", "u")) and dtype != "s32":
        return f"{ref}[...].astype(jnp.int32)"
    return f"{ref}[...]"


def _epilogue(work: Matmul, refs: list[str], *, stepped: bool) -> tuple[str, str]:
    arguments = ", ".join(["product", *(side.name for side in work.sides)])
    kinds = "; ".join(f"{side.name} {_KIND_WORDS[side.kind]}" for side in work.sides)
    lines = [
        f"def epilogue({arguments}):",
        f'    """What the reference does to the product, in float32{": " + kinds if kinds else ""}."""',
        *(f"    {line}" for line in work.lines),
        f"    return {work.finish.text}",
        "",
        "",
    ]
    where = [":, at" if side.kind in {"full", "row"} and not stepped else "..." for side in work.sides]
    sides = [f"{ref}[{at}].astype(jnp.float32)" for ref, at in zip(refs, where, strict=True)]
    reads = ", ".join(["product", *sides])
    return "\n".join(lines), f"epilogue({reads})"


_KIND_WORDS = {
    "full": "varies along rows and columns",
    "row": "is one row, the same for every row of the product",
    "column": "is one value a row",
    "scalar": "is one value",
}


def _matmul_views(work: Matmul, graph: Graph) -> tuple[str, list[str]]:
    lines: list[str] = []
    calls: list[str] = []
    for operand in (work.lhs, work.rhs):
        if operand.rank > 2:
            lines.append(f"{operand.name}_rows = {operand.name}.reshape(-1, {operand.name}.shape[-1])")
            calls.append(f"{operand.name}_rows")
        else:
            calls.append(operand.name)
    for side in work.sides:
        shape = {"full": None, "row": "1, -1", "column": "-1, 1", "scalar": "1, 1"}[side.kind]
        if shape is None and len(graph.specs[side.value].shape) == 2:
            calls.append(side.name)
            continue
        view = f"{side.name}_{side.kind}"
        lines.append(f"{view} = {side.name}.reshape({shape or f'-1, {side.name}.shape[-1]'})")
        calls.append(view)
    return textwrap.indent("\n".join(lines), "    "), calls


def _matmul_specs(work: Matmul, order: str, stepped: bool) -> str:
    k_block, k_index = ("block_k", "s") if stepped else ("k", "0")
    lhs = (
        (f"(block_m, {k_block})", f"(i, {k_index})")
        if work.lhs.contract == 1
        else (f"({k_block}, block_m)", f"({k_index}, i)")
    )
    rhs = (
        (f"({k_block}, block_n)", f"({k_index}, j)")
        if work.rhs.contract == 0
        else (f"(block_n, {k_block})", f"(j, {k_index})")
    )
    sides = {
        "full": ("(block_m, block_n)", "(i, j)"),
        "row": ("(1, block_n)", "(0, j)"),
        "column": ("(block_m, 1)", "(i, 0)"),
        "scalar": ("(1, 1)", "(0, 0)"),
    }
    pairs = [lhs, rhs, *(sides[side.kind] for side in work.sides)]
    return "\n".join(f"            pl.BlockSpec({block}, lambda {order}: {index})," for block, index in pairs)


def _traffic(arrays: list[str], out_elements: str, out_dtype: str) -> str:
    reads = " + ".join(f"{array}.nbytes" for array in dict.fromkeys(arrays))
    return f"{reads} + {out_elements} * jnp.dtype({out_dtype}).itemsize"


def _out_dtype(dtype: str, input_dtype: str, input_name: str) -> str:
    """Follow the input's dtype where the reference does, so that the kernel serves every dtype of the task."""
    return f"{input_name}.dtype" if dtype == input_dtype else jnp_dtype(dtype)


def _matmul_result(work: Matmul) -> str:
    if work.out_rank == 2:
        return "result"
    if work.out_rank == work.lhs.rank:
        return f"result.reshape(*{work.lhs.name}.shape[:-1], n)"
    raise Unrecognised(f"The result has {work.out_rank} axes, the left factor {work.lhs.rank}.")


def _row_result(work: RowWork, first: SideInput) -> str:
    shape = work.shapes[first.value]
    if work.out_kind == "full":
        if work.out_shape == shape:
            return f"result.reshape({first.name}.shape)"
        raise Unrecognised(f"The result's shape {list(work.out_shape)} is not its input's.")
    if len(work.out_shape) == len(shape) - work.trailing:
        return f"result.reshape({first.name}.shape[:-{work.trailing}])"
    return f"result.reshape(*{first.name}.shape[:-{work.trailing}], {', '.join(['1'] * work.trailing)})"
