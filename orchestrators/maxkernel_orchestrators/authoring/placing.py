"""Which axes of a kernel's tile a value varies along. Pure shape arithmetic over broadcasts, reshapes, transposes.

A *frame* names the axes of the result (rows first, then features). Each dimension of a value carries the frame axes
it stands for: one, several merged, or none where the extent is one. Walking backwards from the result, every operand's
dimensions follow from its user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from maxkernel_orchestrators.authoring.graphs import Node, Unrecognised

Labels = tuple[tuple[int, ...], ...]
"""For each dimension of a value, the frame axes it stands for, in order; extents of one stand for none."""


@dataclass(frozen=True)
class Frame:
    """The axes of the result.

    Attributes:
        sizes: extents.
        leading: how many of them are rows; the rest are features (columns).
    """

    sizes: tuple[int, ...]
    leading: int

    @property
    def rows(self) -> int:
        """Rows of the two-dimensional view."""
        return prod(self.sizes[: self.leading])

    @property
    def columns(self) -> int:
        """Columns of the two-dimensional view."""
        return prod(self.sizes[self.leading :])

    def axes(self, start: int = 0, stop: int | None = None) -> tuple[int, ...]:
        """Frame axes in ``[start, stop)`` whose extent is not one."""
        end = len(self.sizes) if stop is None else stop
        return tuple(axis for axis in range(start, end) if self.sizes[axis] != 1)

    def partition(self, axes: tuple[int, ...], shape: tuple[int, ...]) -> Labels:
        """Spread ``axes`` over the dimensions of ``shape``, in order.

        Raises:
            Unrecognised: the extents do not multiply out, as when a reshape cuts across axes.
        """
        labels: list[tuple[int, ...]] = []
        rest = list(axes)
        for extent in shape:
            taken: list[int] = []
            size = 1
            while rest and size < extent:
                taken.append(rest.pop(0))
                size *= self.sizes[taken[-1]]
            if size != extent:
                raise Unrecognised(f"A reshape to {list(shape)} cuts across the axes {list(self.sizes)}.")
            labels.append(tuple(taken))
        if rest:
            raise Unrecognised(f"A value of shape {list(shape)} does not cover the axes {list(self.sizes)}.")
        return tuple(labels)

    def kind(self, labels: Labels) -> str:
        """Return ``full``, ``row`` (varies along columns only), ``column`` (along rows only) or ``scalar``.

        Raises:
            Unrecognised: the value varies along part of the rows, or its axes are permuted.
        """
        flat = tuple(axis for label in labels for axis in label)
        kinds = {
            self.axes(): "full",
            self.axes(self.leading): "row",
            self.axes(0, self.leading): "column",
            (): "scalar",
        }
        if flat not in kinds:
            raise Unrecognised(
                f"A value varies along axes {list(flat)} of {list(self.sizes)}; blueprints take rows, columns or all."
            )
        return "scalar" if not flat else kinds[flat]


def operand_labels(frame: Frame, node: Node, labels: Labels, shape: tuple[int, ...], operand_index: int = 0) -> Labels:
    """Return the labels of an operand of ``node`` whose result carries ``labels``.

    Args:
        frame: the result's axes.
        node: a broadcast, reshape, transpose, reduction or elementwise equation.
        labels: labels of the node's result.
        shape: shape of the operand.
        operand_index: which operand, for messages.

    Raises:
        Unrecognised: the equation moves data in a way tiles cannot follow.
    """
    if node.primitive == "broadcast_in_dim":
        dims: tuple[int, ...] = tuple(node.param("broadcast_dimensions", ()))
        return tuple(labels[dim] if shape[index] == node.spec.shape[dim] else () for index, dim in enumerate(dims))
    if node.primitive in {"reshape", "squeeze", "expand_dims"}:
        return frame.partition(tuple(axis for label in labels for axis in label), shape)
    if node.primitive == "transpose":
        permutation: tuple[int, ...] = tuple(node.param("permutation"))
        placed: list[tuple[int, ...]] = [()] * len(shape)
        for position, source in enumerate(permutation):
            placed[source] = labels[position]
        return tuple(placed)
    if node.primitive.startswith("reduce_"):
        return _reduced(frame, node, labels, shape)
    if not shape:
        return ()
    if len(shape) != len(labels):
        raise Unrecognised(f"Operand {operand_index} of {node.primitive} has another rank than its result.")
    return tuple(
        label if extent == whole else () for label, extent, whole in zip(labels, shape, node.spec.shape, strict=True)
    )


def _reduced(frame: Frame, node: Node, labels: Labels, shape: tuple[int, ...]) -> Labels:
    reduced: tuple[int, ...] = tuple(node.param("axes", ()))
    features = frame.axes(frame.leading)
    spread = frame.partition(features, tuple(shape[axis] for axis in reduced))
    kept = iter(labels)
    placed = tuple(spread[reduced.index(axis)] if axis in reduced else next(kept) for axis in range(len(shape)))
    if any(axis in features for label in labels for axis in label):
        raise Unrecognised(f"{node.primitive} keeps part of the features it reduces.")
    return placed
