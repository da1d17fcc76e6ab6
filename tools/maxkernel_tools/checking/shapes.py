"""Which shapes a candidate is tried on: its task's family, and shapes chosen against its own blocks.

A kernel that overwrites its output at each reduction step is right whenever every axis fits one step. So every grid
axis with several steps at full size must have at least two, and a ragged one, in some tested shape. Grids are read
from traces; a dim is tied to a block by the argument it sizes, or, where the kernel reshapes first, by trying.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from maxkernel_tools.checking.explaining import calls_of
from maxkernel_tools.context import Workload
from maxkernel_tools.records.arrays import DTYPES, ArraySpec
from maxkernel_tools.records.tasks import ShapeKind, TaskFacts, TaskInput
from maxkernel_tools.tasks import check_dims, flops, input_specs, output_specs

MAX_CASE_BYTES: Final = 192 << 20
MAX_CASE_FLOPS: Final = 40_000_000_000
MAX_STEPS: Final = 300


@dataclass(frozen=True)
class Shape:
    """One shape to test.

    Attributes:
        name: ``aligned``, ``ragged``, ``tiny``, ``given``, ``two-steps``, ``two-steps-ragged``, ``shrunk``.
        convicts: a wrong result here is the kernel's fault; False where the caller asked for one shape only and this
            is another, tried to say how general the kernel is.
        once: so much work that it is tried under one setting only; a smaller shape stands beside it for the others.
    """

    name: str
    specs: tuple[ArraySpec, ...]
    dims: Mapping[str, int]
    convicts: bool = True
    once: bool = False


def family(task: TaskFacts, kinds: Sequence[ShapeKind], dtype: str) -> list[Shape]:
    """Return the task's small shapes of ``kinds``, one each, in that order."""
    found: list[Shape] = []
    for kind in kinds:
        member = next((shape for shape in task.small_shapes if shape.kind == kind), None)
        if member is not None:
            found.append(Shape(kind, input_specs(task, member.dims, dtype), dict(member.dims)))
    return found


def given(workload: Workload) -> Shape:
    """Return the very shape the caller gave."""
    return Shape("given", workload.inputs, {})


def task_dtype(workload: Workload) -> str:
    """Return the dtype a task is graded at: what the caller's inputs of the task's dtype have."""
    task = workload.task
    if task is None:
        floating = [spec.dtype for spec in workload.inputs if DTYPES[spec.dtype][0].startswith(("f", "bf"))]
        return floating[0] if floating else (workload.inputs[0].dtype if workload.inputs else "f32")
    for entry, spec in zip(task.facts.inputs, workload.inputs, strict=False):
        if entry.dtype == "task":
            return spec.dtype
    return task.facts.dtype


def affordable(
    specs: Sequence[ArraySpec], facts: Mapping[str, Any], steps: int = MAX_STEPS, most_flops: int = MAX_CASE_FLOPS
) -> bool:
    """Whether interpreting a kernel with these ``facts`` on ``specs`` takes seconds, not minutes."""
    total = sum(spec.nbytes for spec in specs)
    work = int(facts.get("flops_inside") or 0) + int(facts.get("flops_outside") or 0)
    return total <= MAX_CASE_BYTES and work <= most_flops and grid_steps(facts) <= steps


def grid_steps(facts: Mapping[str, Any]) -> int:
    """Return how many grid steps all kernel calls take together."""
    total = 0
    for call in calls_of(facts):
        steps = int(call.get("trips") or 1)
        grid: list[int | None] = call.get("grid") or []
        for extent in grid:
            steps *= max(int(extent or 1), 1)
        total += steps
    return total


def multi_step_axes(facts: Mapping[str, Any]) -> dict[tuple[int, int], int]:
    """Return (call, axis) -> steps of every grid axis with more than one step."""
    found: dict[tuple[int, int], int] = {}
    for index, call in enumerate(calls_of(facts)):
        for axis, extent in enumerate(call.get("grid") or []):
            if extent is None or int(extent) > 1:
                found[index, axis] = int(extent or 2)
    return found


def axis_names(facts: Mapping[str, Any], axes: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return readable names of grid axes: ``mm_body axis 2``."""
    calls = calls_of(facts)
    return tuple(f"{calls[call].get('name', 'kernel')} axis {axis}" for call, axis in axes)


def exercised(full: Mapping[str, Any], tested: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return the axes with several steps at full size that no tested shape gives two."""
    missing: list[tuple[int, int]] = []
    for call, axis in multi_step_axes(full):
        reached = any((multi_step_axes(facts).get((call, axis)) or 0) >= 2 for facts in tested)
        if not reached:
            missing.append((call, axis))
    return missing


def block_sizes(task: TaskFacts, full: Mapping[str, Any], specs: Sequence[ArraySpec]) -> dict[str, int]:
    """Return the largest block each dim is cut into, for dims that size an argument passed to a kernel as it is."""
    found: dict[str, int] = {}
    sides = {"in": list(zip(task.inputs, specs, strict=False))}
    sides["out"] = list(zip(task.outputs, _output_specs(task, specs), strict=False))
    for call in calls_of(full):
        position = {"in": 0, "out": 0}
        for operand in call.get("operands", []):
            side = sides.get(operand["kind"])
            if side is None:
                continue
            index = position[operand["kind"]]
            position[operand["kind"]] += 1
            entry = _sized_like(operand, side, index) if operand.get("block") else None
            if entry is None:
                continue
            shape, spec = entry
            for text, extent, size in zip(shape.shape, spec.shape, operand["block"], strict=False):
                if text in task.dims and 0 < size < extent:
                    found[text] = max(found.get(text, 0), int(size))
    return found


def _sized_like(
    operand: Mapping[str, Any], side: Sequence[tuple[TaskInput, ArraySpec]], index: int
) -> tuple[TaskInput, ArraySpec] | None:
    """Return the argument an operand is, by position where its size agrees, else any of its size."""
    ordered = [*side[index : index + 1], *side]
    return next(((entry, spec) for entry, spec in ordered if str(spec) == operand["array"]), None)


def affordable_groups(task: TaskFacts, blocks: Mapping[str, int], budget: int) -> list[dict[str, int]]:
    """Split ``blocks`` so that giving one group's dims two steps, the others small, costs at most ``budget`` flops.

    A kernel with large blocks is tried one axis (or two) at a time rather than not at all.
    """
    base = _base_dims(task)
    groups: list[dict[str, int]] = []
    for name, size in sorted(blocks.items(), key=lambda item: item[1]):
        for group in groups:
            dims = {**base, **{known: 2 * value for known, value in group.items()}, name: 2 * size}
            if flops(task, dims) <= budget:
                group[name] = size
                break
        else:
            groups.append({name: size})
    return groups


def _base_dims(task: TaskFacts) -> dict[str, int]:
    return next((shape.dims for shape in task.small_shapes if shape.kind == "aligned"), task.small_shapes[0].dims)


def derived(task: TaskFacts, blocks: Mapping[str, int], dtype: str, *, ragged: bool) -> Shape | None:
    """Return a shape that gives every dim in ``blocks`` two steps, the second one partial if ``ragged``.

    Other dims keep the aligned member's value. None where rules or size forbid it.
    """
    dims = dict(_base_dims(task))
    for name, size in blocks.items():
        if name not in task.fixed_dims:
            dims[name] = size + max(size // 2, 1) if ragged else 2 * size
    return shape_at(task, dims, dtype, "two-steps-ragged" if ragged else "two-steps")


def shape_at(task: TaskFacts, dims: Mapping[str, int], dtype: str, name: str) -> Shape | None:
    """Return the shape at ``dims`` where the task's rules and this machine allow it."""
    if check_dims(task, dims) is not None:
        return None
    specs = input_specs(task, dims, dtype)
    if sum(spec.nbytes for spec in specs) > MAX_CASE_BYTES or flops(task, dims) > MAX_CASE_FLOPS:
        return None
    return Shape(name, specs, dict(dims))


def shrunk(workload: Workload, limit: int) -> Shape:
    """Return the given inputs with every extent above ``limit`` cut to it, equal extents staying equal."""
    specs = tuple(
        ArraySpec(dtype=spec.dtype, shape=tuple(min(extent, limit) for extent in spec.shape))
        for spec in workload.inputs
    )
    return Shape("shrunk", specs, {}, convicts=False)


def _output_specs(task: TaskFacts, specs: Sequence[ArraySpec]) -> tuple[ArraySpec, ...]:
    dtype = next((spec.dtype for entry, spec in zip(task.inputs, specs, strict=False) if entry.dtype == "task"), None)
    return output_specs(task, None, dtype)
