"""Recognises work in which rows do not mix: normalisations, softmaxes and plain elementwise functions."""

from __future__ import annotations

from dataclasses import dataclass

from maxkernel_orchestrators.authoring.expressions import Expr, SideInput, Translator
from maxkernel_orchestrators.authoring.graphs import Graph, Unrecognised
from maxkernel_orchestrators.authoring.placing import Frame


@dataclass(frozen=True)
class RowWork:
    """``row_function(inputs)`` on ``rows`` independent rows of ``columns`` values.

    Attributes:
        trailing: how many trailing axes of a full input make up a row.
        passes: reductions, that is, how often a row is swept.
        out_kind: ``full``, or ``column`` for one value a row.
        out_shape: extents of the result; ``out_trailing`` of them make up its row.
        shapes: extents of each input.
    """

    rows: int
    columns: int
    leading: int
    trailing: int
    lines: tuple[str, ...]
    finish: Expr
    inputs: tuple[SideInput, ...]
    operations: int
    transcendentals: int
    passes: int
    out_kind: str
    out_dtype: str
    out_shape: tuple[int, ...]
    shapes: dict[str, tuple[int, ...]]


def recognise_rows(graph: Graph) -> RowWork:
    """Read ``graph`` as a function of rows.

    Raises:
        Unrecognised: it is something else; the message says what.
    """
    if len(graph.outputs) != 1:
        raise Unrecognised(f"The reference has {len(graph.outputs)} outputs; this blueprint takes one.")
    out = graph.specs[graph.outputs[0]]
    frame = _frame(graph, out.shape)
    if not frame.axes(0, frame.leading) or not frame.axes(frame.leading):
        raise Unrecognised("There is a single row, or rows of a single value; the row blueprint needs several.")
    translator = Translator(graph, frame, {}, size_name="columns")
    full = len([axis for axis in out.shape if axis != 1]) == len(frame.axes())
    axes = frame.axes() if full else frame.axes(0, frame.leading)
    finish = translator.translate(graph.outputs[0], frame.partition(axes, out.shape))
    if finish.kind not in {"full", "column"} or not any(side.kind == "full" for side in translator.sides):
        raise Unrecognised("No input varies along both rows and columns.")
    return RowWork(
        rows=frame.rows,
        columns=frame.columns,
        leading=frame.leading,
        trailing=len(frame.sizes) - frame.leading,
        lines=tuple(translator.lines),
        finish=finish,
        inputs=tuple(translator.sides),
        operations=max(1, translator.operations + translator.reductions),
        transcendentals=translator.transcendentals,
        passes=translator.reductions,
        out_kind=finish.kind,
        out_dtype=out.dtype,
        out_shape=out.shape,
        shapes={side.value: graph.specs[side.value].shape for side in translator.sides},
    )


def _frame(graph: Graph, out_shape: tuple[int, ...]) -> Frame:
    """Rows and columns: what the first reduction sums over is a row; without one, the last axis is."""
    for node in graph.nodes.values():
        if not node.primitive.startswith("reduce_"):
            continue
        operand = node.inputs[0]
        if not isinstance(operand, str):
            continue
        shape = graph.specs[operand].shape
        axes = tuple(node.param("axes", ()))
        leading = len(shape) - len(axes)
        if axes != tuple(range(leading, len(shape))):
            raise Unrecognised(f"A reduction over axes {list(axes)} of {list(shape)} is not over whole trailing rows.")
        return Frame(shape, leading)
    if len(out_shape) < 2:
        raise Unrecognised("The result is a vector.")
    return Frame(out_shape, len(out_shape) - 1)
