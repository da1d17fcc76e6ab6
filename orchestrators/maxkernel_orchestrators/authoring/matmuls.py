"""Recognises one matrix product followed by elementwise work, whatever casts, transposes and reshapes surround it."""

from __future__ import annotations

from dataclasses import dataclass

from maxkernel_orchestrators.authoring.expressions import Expr, SideInput, Translator
from maxkernel_orchestrators.authoring.graphs import Graph, Node, Unrecognised
from maxkernel_orchestrators.authoring.placing import Frame


@dataclass(frozen=True)
class Operand:
    """One factor: a graph input seen as a matrix.

    Attributes:
        value: graph name. ``name``: readable name.
        contract: which of the two axes of the matrix is summed over.
        dtype: what the reference multiplies in, short spelling; ``stored`` is what the input holds.
        rank: rank of the input; leading axes are merged into rows.
    """

    value: str
    name: str
    contract: int
    dtype: str
    stored: str
    rank: int


@dataclass(frozen=True)
class Matmul:
    """``epilogue(lhs @ rhs, sides)``; sizes at full size."""

    lhs: Operand
    rhs: Operand
    m: int
    n: int
    k: int
    lines: tuple[str, ...]
    finish: Expr
    sides: tuple[SideInput, ...]
    transcendentals: int
    integer: bool
    out_dtype: str
    out_rank: int


def recognise_matmul(graph: Graph) -> Matmul:
    """Read ``graph`` as a matrix product with an epilogue.

    Raises:
        Unrecognised: it is something else; the message says what.
    """
    dots = graph.of("dot_general")
    if len(dots) != 1:
        raise Unrecognised(f"The reference has {len(dots)} matrix products; this blueprint takes one.")
    if len(graph.outputs) != 1:
        raise Unrecognised(f"The reference has {len(graph.outputs)} outputs; this blueprint takes one.")
    dot = dots[0]
    (lhs_axes, rhs_axes), (lhs_batch, rhs_batch) = dot.param("dimension_numbers")
    if lhs_batch or rhs_batch:
        raise Unrecognised("The matrix product is batched.")
    if len(lhs_axes) != 1 or len(rhs_axes) != 1:
        raise Unrecognised("The matrix product sums over several axes.")
    lhs = _operand(graph, dot, 0, lhs_axes[0])
    rhs = _operand(graph, dot, 1, rhs_axes[0])
    if rhs.rank != 2:
        raise Unrecognised(f"The right operand has {rhs.rank} axes; this blueprint takes two.")
    out = graph.specs[graph.outputs[0]]
    shape = dot.spec.shape if len(dot.spec.shape) > len(out.shape) else out.shape
    frame = Frame(shape, len(shape) - 1)
    if len(shape) < 2 or not frame.axes(0, frame.leading) or not frame.axes(frame.leading):
        raise Unrecognised("The result is a vector; a matrix product blueprint would leave the MXU idle.")
    integer = not dot.spec.dtype.startswith(("f", "bf"))
    translator = Translator(graph, frame, {dot.output: Expr("product", 9, "full", "int" if integer else "float")})
    labels = frame.partition(frame.axes(), out.shape)
    finish = translator.translate(graph.outputs[0], labels)
    if translator.reductions:
        raise Unrecognised("Rows are reduced after the matrix product.")
    if finish.kind != "full" or dot.output not in graph.uses:
        raise Unrecognised("The result does not depend on the matrix product.")
    k = graph.specs[lhs.value].shape[-1 if lhs.contract == 1 else 0]
    return Matmul(
        lhs=lhs,
        rhs=rhs,
        m=frame.rows,
        n=frame.columns,
        k=k,
        lines=tuple(translator.lines),
        finish=finish,
        sides=tuple(translator.sides),
        transcendentals=translator.transcendentals,
        integer=integer,
        out_dtype=out.dtype,
        out_rank=len(out.shape),
    )


def _operand(graph: Graph, dot: Node, index: int, axis: int) -> Operand:
    """Walk back from a factor to the input it is a view of."""
    value = dot.inputs[index]
    if not isinstance(value, str):
        raise Unrecognised("A factor of the matrix product is a constant.")
    dtype = graph.specs[value].dtype
    while value in graph.nodes:
        node = graph.nodes[value]
        source = node.inputs[0] if node.inputs else None
        if not isinstance(source, str):
            raise Unrecognised("A factor of the matrix product is a constant.")
        before, after = graph.specs[source].shape, node.spec.shape
        if node.primitive == "transpose" and len(after) == 2:
            axis = 1 - axis
        elif node.primitive == "reshape" and axis == len(after) - 1 and before[-1:] == after[-1:]:
            axis = len(before) - 1
        elif node.primitive not in {"convert_element_type", "copy", "stop_gradient"}:
            raise Unrecognised(f"A factor of the matrix product is computed by {node.primitive}.")
        value = source
    spec = graph.specs[value]
    rank = len(spec.shape)
    if rank < 2 or (rank > 2 and axis != rank - 1):
        raise Unrecognised(f"A factor has {rank} axes and is summed over axis {axis}.")
    return Operand(value, graph.name_of(value), 0 if axis == 0 else 1, dtype, spec.dtype, rank)
