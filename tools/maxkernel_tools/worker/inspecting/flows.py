"""What a value of a kernel body carries along: garbage from beyond an array's end, sums it continues, its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Names = frozenset[str]
NOTHING: Names = frozenset()


@dataclass(frozen=True)
class Flow:
    """One value.

    Attributes:
        dirty: per dimension, operands whose last block hangs over along it and was not masked.
        sums: references and carries this value adds to.
        sources: operands it is computed from.
        is_mask: a comparison, or made from comparisons alone.
    """

    dirty: tuple[Names, ...]
    sums: Names = NOTHING
    sources: Names = NOTHING
    is_mask: bool = False

    @property
    def is_dirty(self) -> bool:
        """Whether any dimension is dirty."""
        return any(self.dirty)


def clean(rank: int) -> Flow:
    """A value that carries nothing."""
    return Flow((NOTHING,) * rank)


def joined(flows: Sequence[Flow], rank: int) -> Flow:
    """A value computed elementwise from others; those of another rank give only their sources."""
    dirty = [NOTHING] * rank
    sources = NOTHING
    for flow in flows:
        sources |= flow.sources
        if len(flow.dirty) == rank:
            dirty = [mine | theirs for mine, theirs in zip(dirty, flow.dirty, strict=True)]
    return Flow(tuple(dirty), sources=sources, is_mask=bool(flows) and all(flow.is_mask for flow in flows))


def scaled(flows: Sequence[Flow], rank: int) -> Flow:
    """A product: a mask among the factors cleans it, sums go through."""
    base = joined(flows, rank)
    if len(flows) == 2 and flows[0].is_mask != flows[1].is_mask:
        base = Flow((NOTHING,) * rank, sources=base.sources)
    return Flow(base.dirty, sums=frozenset().union(*(flow.sums for flow in flows)), sources=base.sources)


def selected(which: Flow, cases: Sequence[Flow], rank: int) -> Flow:
    """A choice: where one case is clean the other counts as masked, unless the mask comes from the same operand."""
    base = joined(cases, rank)
    dirty: list[Names] = []
    for axis in range(rank):
        per_case = [flow.dirty[axis] if len(flow.dirty) == rank else NOTHING for flow in cases]
        masked = any(not names for names in per_case)
        dirty.append(base.dirty[axis] & which.sources if masked else base.dirty[axis])
    return Flow(
        tuple(dirty), sums=frozenset().union(*(flow.sums for flow in cases)), sources=base.sources | which.sources
    )


def permuted(flow: Flow, axes: Sequence[int]) -> Flow:
    """A transposition."""
    return Flow(tuple(flow.dirty[axis] for axis in axes), flow.sums, flow.sources, flow.is_mask)


def broadcast(flow: Flow, rank: int, dims: Sequence[int]) -> Flow:
    """A broadcast that maps dimension ``i`` of the value to ``dims[i]`` of the result."""
    dirty = [NOTHING] * rank
    for source, target in enumerate(dims):
        dirty[target] = flow.dirty[source]
    return Flow(tuple(dirty), flow.sums, flow.sources, flow.is_mask)


def reshaped(flow: Flow, before: Sequence[int], after: Sequence[int]) -> Flow:
    """A reshape that only adds or drops dimensions of one; others lose track of what is dirty."""
    kept = [axis for axis, extent in enumerate(before) if extent != 1]
    targets = [axis for axis, extent in enumerate(after) if extent != 1]
    dirty = [NOTHING] * len(after)
    if [before[axis] for axis in kept] == [after[axis] for axis in targets]:
        for source, target in zip(kept, targets, strict=True):
            dirty[target] = flow.dirty[source]
    return Flow(tuple(dirty), flow.sums, flow.sources, flow.is_mask)


def without(flow: Flow, axes: Sequence[int], rank: int) -> Flow:
    """A reduction over ``axes`` into ``rank`` dimensions."""
    left = tuple(names for axis, names in enumerate(flow.dirty) if axis not in axes)
    return Flow(left if len(left) == rank else (NOTHING,) * rank, sources=flow.sources)


def contracted(lhs: Flow, rhs: Flow, numbers: Any, rank: int) -> tuple[Flow, Names]:
    """A matmul: its result, and the operands that hang over along a contracted dimension on both sides."""
    (left_contract, right_contract), (left_batch, right_batch) = numbers
    both: Names = NOTHING
    for left, right in zip(left_contract, right_contract, strict=True):
        if lhs.dirty[left] and rhs.dirty[right]:
            both |= lhs.dirty[left] | rhs.dirty[right]
    dirty = [lhs.dirty[axis] | rhs.dirty[other] for axis, other in zip(left_batch, right_batch, strict=True)]
    dirty += [names for axis, names in enumerate(lhs.dirty) if axis not in (*left_contract, *left_batch)]
    dirty += [names for axis, names in enumerate(rhs.dirty) if axis not in (*right_contract, *right_batch)]
    kept = tuple(dirty) if len(dirty) == rank else (NOTHING,) * rank
    return Flow(kept, sources=lhs.sources | rhs.sources), both
