"""The questions a candidate is asked at each level: which shapes, seeds, scales and interpreter settings."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np

from maxkernel_tools.checking import shapes
from maxkernel_tools.checking.at_once import all_of
from maxkernel_tools.checking.shapes import Shape
from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.records.tasks import ShapeKind
from maxkernel_tools.records.verdicts import TestLevel
from maxkernel_tools.runtime import InterpretOptions, TraceReply, TraceRequest
from maxkernel_tools.tasks import flops

KINDS: Final[dict[TestLevel, tuple[ShapeKind, ...]]] = {
    "quick": ("aligned", "ragged"),
    "full": ("aligned", "ragged", "tiny"),
    "sanitize": ("aligned", "ragged", "tiny"),
}
PLAIN: Final = InterpretOptions(detect_races=True)
SANITIZE: Final[dict[str, InterpretOptions]] = {
    "one core, copies on wait": PLAIN,
    "two cores, eager copies": InterpretOptions(
        detect_races=True, num_cores=2, dma_execution_mode="eager", random_seed=7
    ),
    "padded buffers": InterpretOptions(buffer_bounds="padded"),
    "zeroed memory": InterpretOptions(uninitialized_memory="zero"),
}
BUDGET_FLOPS: Final[dict[TestLevel, int]] = {"quick": 5_000_000_000, "full": 8_000_000_000, "sanitize": 5_000_000_000}
_GIVEN_STEPS: Final[dict[TestLevel, int]] = {"quick": 128, "full": 400, "sanitize": 200}
_SHRUNK_TO: Final = (2048, 1024, 512)
_EASY_FLOPS: Final = 5_000_000_000
_SENSITIVITY_SCALE: Final = 16.0
_MOST_SENSITIVITY_INPUTS: Final = 6


@dataclass(frozen=True)
class Question:
    """One case: a shape, a secret seed, a scale, settings.

    Attributes:
        sensitivity_to: index of the one input that differs from the base question of the shape.
    """

    name: str
    shape: Shape
    seed: int
    scale: float = 1.0
    options: InterpretOptions = PLAIN
    sensitivity_to: int | None = None
    overrides: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict[int, np.ndarray[Any, Any]])


def secret_seed() -> int:
    """Return a seed nobody can foresee."""
    return secrets.randbits(63)


async def choose_shapes(call: KernelCall, level: TestLevel, full: TraceReply, context: CallContext) -> list[Shape]:
    """Return the shapes to test at ``level``; see ``shapes`` for why each is there."""
    task = call.workload.task
    if task is None:
        return await _given(call, level, full, context)
    dtype = shapes.task_dtype(call.workload)
    chosen = shapes.family(task.facts, KINDS[level], dtype)
    blocks = shapes.block_sizes(task.facts, full.facts, call.workload.inputs)
    missing = await _missing_after(call, chosen, full, context)
    if not missing and level != "full":
        return chosen
    even = await _reaching(call, blocks, full, context, BUDGET_FLOPS[level])
    chosen = [*even, *chosen[1:]] if level == "quick" and even else [*chosen, *even]
    if level == "full":
        uneven = (shapes.derived(task.facts, group, dtype, ragged=True) for group in _as_blocks(blocks, even))
        chosen += [shape for shape in uneven if shape is not None]
    return _distinct(chosen)


def ask(level: TestLevel, chosen: Sequence[Shape], inputs: int) -> list[Question]:
    """Return the questions of ``level`` on ``chosen`` shapes, ``inputs`` being the number of arguments."""
    if level == "sanitize":
        questions: list[Question] = []
        for shape in chosen:
            seed = secret_seed()
            settings = list(SANITIZE.items())[: 1 if shape.once else None]
            questions += [Question(f"{shape.name}, {name}", shape, seed, options=options) for name, options in settings]
        return questions
    questions = [Question(shape.name, shape, secret_seed()) for shape in chosen]
    if not questions:
        return questions
    first = next((question for question in questions if not question.shape.once), questions[0])
    # One trace serves both: an answer computed while tracing is right for one of them at most.
    questions.insert(1, replace(first, name=f"{first.name}, other seed", seed=secret_seed()))
    if level == "full":
        for scale in (0.25, 4.0):
            name = f"{first.name}, inputs x{scale:g}"
            questions.append(replace(first, name=name, seed=secret_seed(), scale=scale))
        questions += [
            replace(first, name=f"{first.name}, input {index} changed", sensitivity_to=index)
            for index in range(min(inputs, _MOST_SENSITIVITY_INPUTS))
        ]
    return questions


def changed_input(array: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any] | None:
    """Return another draw in place of ``array``, larger so that its effect shows; None for metadata."""
    name = array.dtype.name
    if array.dtype.kind not in "fV" or "float" not in name:
        return None
    rng = np.random.default_rng(seed)
    values = array.astype(np.float32)
    spread = float(values.std()) or 1.0
    size: tuple[int, ...] = tuple(array.shape)
    drawn: np.ndarray[Any, Any] = rng.standard_normal(size, dtype=np.float32)
    return (drawn * np.float32(spread * _SENSITIVITY_SCALE)).astype(array.dtype)


async def _given(call: KernelCall, level: TestLevel, full: TraceReply, context: CallContext) -> list[Shape]:
    """Return the very shape the caller gave, and a smaller one beside it or instead of it where it costs too much."""
    given, steps = shapes.given(call.workload), _GIVEN_STEPS[level]
    possible = shapes.affordable(given.specs, full.facts, steps)
    if possible and (level == "full" or shapes.affordable(given.specs, full.facts, steps, _EASY_FLOPS)):
        return [given]
    smaller = _distinct([shapes.shrunk(call.workload, limit) for limit in _SHRUNK_TO])
    traced = zip(smaller, await trace_many(call, smaller, context), strict=True)
    accepted = [(shape, reply.facts) for shape, reply in traced if reply.facts]
    fitting = [shape for shape, facts in accepted if shapes.affordable(shape.specs, facts, steps, _EASY_FLOPS)]
    chosen = fitting[0] if fitting else smaller[-1]
    if not possible:
        return [chosen]
    return [replace(given, once=True), chosen] if fitting and chosen.specs != given.specs else [given]


async def _missing_after(
    call: KernelCall, chosen: Sequence[Shape], full: TraceReply, context: CallContext
) -> list[tuple[int, int]]:
    if not shapes.multi_step_axes(full.facts):
        return []
    replies = await trace_many(call, [shape for shape in chosen if shape.name != "tiny"], context)
    return shapes.exercised(full.facts, [reply.facts for reply in replies])


async def _reaching(
    call: KernelCall, blocks: Mapping[str, int], full: TraceReply, context: CallContext, budget: int
) -> list[Shape]:
    """Return shapes that together give every axis two steps: by the blocks read, then by doubling what may help."""
    assert call.workload.task is not None  # noqa: S101 - shapes are derived for tasks only
    task, dtype = call.workload.task.facts, shapes.task_dtype(call.workload)
    groups = shapes.affordable_groups(task, blocks, budget)
    found = [shape for group in groups if (shape := shapes.derived(task, group, dtype, ragged=False)) is not None]
    if not found and (base := shapes.derived(task, {}, dtype, ragged=False)) is not None:
        found = [base]
    for _ in range(4):
        replies = await trace_many(call, found, context)
        if not shapes.exercised(full.facts, [reply.facts for reply in replies]) or not found:
            break
        grown = {
            name: value if name in task.fixed_dims or name in blocks else min(2 * value, task.dims[name])
            for name, value in found[-1].dims.items()
        }
        larger = shapes.shape_at(task, grown, dtype, found[-1].name)
        if larger is None or larger.dims == found[-1].dims or flops(task, larger.dims) > budget:
            break
        found[-1] = larger
    return found


async def trace_many(call: KernelCall, chosen: Sequence[Shape], context: CallContext) -> list[TraceReply]:
    """Trace the kernel at every shape, two at a time.

    Raises:
        MachineryError: the lab could not.
    """
    requests = [
        TraceRequest(kernel=call.kernel, inputs=shape.specs, params=call.params, targets=()) for shape in chosen
    ]
    return await all_of([partial(context.runtime.trace, request) for request in requests])


def _as_blocks(blocks: Mapping[str, int], even: Sequence[Shape]) -> list[dict[str, int]]:
    """Return, per shape with even steps, half of every dim it stretches: the block its ragged sibling is made of."""
    return [
        {name: shape.dims[name] // 2 for name, size in blocks.items() if shape.dims[name] >= 2 * size} for shape in even
    ]


def _distinct(chosen: Sequence[Shape]) -> list[Shape]:
    seen: set[tuple[str, ...]] = set()
    kept: list[Shape] = []
    for shape in chosen:
        key = tuple(str(spec) for spec in shape.specs)
        if key not in seen:
            seen.add(key)
            kept.append(shape)
    return kept
