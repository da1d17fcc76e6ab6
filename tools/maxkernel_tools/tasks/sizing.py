"""What a task's formulas give at concrete dims: specs, flops, bytes, and whether the dims are allowed at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.arrays import DTYPES, ArraySpec
from maxkernel_tools.records.tasks import TaskFacts, TaskInput
from maxkernel_tools.tasks.expressions import ExpressionError, evaluate, holds

ITEM: Final = "ITEM"
"""In a bytes formula: bytes of one element of the task's dtype (2 at bf16, 4 at f32)."""


def input_specs(
    facts: TaskFacts, dims: Mapping[str, int] | None = None, dtype: str | None = None
) -> tuple[ArraySpec, ...]:
    """Return abstract inputs in argument order at ``dims`` and ``dtype`` (default: the full size, the task's dtype)."""
    return tuple(_spec(facts, entry, dims, dtype) for entry in facts.inputs)


def output_specs(
    facts: TaskFacts, dims: Mapping[str, int] | None = None, dtype: str | None = None
) -> tuple[ArraySpec, ...]:
    """Return abstract outputs, flattened, at ``dims`` and ``dtype`` (default: the full size, the task's dtype)."""
    return tuple(_spec(facts, entry, dims, dtype) for entry in facts.outputs)


def flops(facts: TaskFacts, dims: Mapping[str, int] | None = None) -> int:
    """Return the floating-point operations the semantics needs at ``dims`` (a multiply-add is two)."""
    return _formula(facts, "work.flops", facts.work.flops, dict(dims or facts.dims))


def hbm_bytes(facts: TaskFacts, dims: Mapping[str, int] | None = None, dtype: str | None = None) -> int:
    """Return the fewest bytes that must cross HBM: each input read once, each output written once."""
    item = max(1, DTYPES[dtype or facts.dtype][1] // 8)
    return _formula(facts, "work.bytes", facts.work.bytes, {**(dims or facts.dims), ITEM: item})


def least_flops(facts: TaskFacts, dims: Mapping[str, int] | None = None) -> int:
    """Return the operations the known algebraic rewrite needs at ``dims``; those of the formula where there is none."""
    if not facts.work.least_flops:
        return flops(facts, dims)
    return _formula(facts, "work.least_flops", facts.work.least_flops, dict(dims or facts.dims))


def least_hbm_bytes(facts: TaskFacts, dims: Mapping[str, int] | None = None, dtype: str | None = None) -> int:
    """Return the bytes that must cross HBM even where dead inputs are left unread."""
    if not facts.work.least_bytes:
        return hbm_bytes(facts, dims, dtype)
    item = max(1, DTYPES[dtype or facts.dtype][1] // 8)
    return _formula(facts, "work.least_bytes", facts.work.least_bytes, {**(dims or facts.dims), ITEM: item})


def check_dims(facts: TaskFacts, dims: Mapping[str, int]) -> str | None:
    """Return why ``dims`` are not allowed for the task (a broken rule, a fixed dim changed), or None."""
    if set(dims) != set(facts.dims):
        return f"the task's dims are {', '.join(facts.dims)}, given were {', '.join(dims)}"
    for name, value in dims.items():
        if value < 1:
            return f"{name} = {value} is not positive"
        if name in facts.fixed_dims and value != facts.dims[name]:
            return f"{name} is fixed at {facts.dims[name]}"
    return next((f"the rule {rule} is broken" for rule in facts.rules if not holds(rule, dims)), None)


def _spec(facts: TaskFacts, entry: TaskInput, dims: Mapping[str, int] | None, dtype: str | None) -> ArraySpec:
    known = dict(dims or facts.dims)
    shape = tuple(_formula(facts, f"shape of {entry.name}", text, known) for text in entry.shape)
    chosen = (dtype or facts.dtype) if entry.dtype == "task" else entry.dtype
    return ArraySpec.of(chosen, shape)


def _formula(facts: TaskFacts, key: str, text: str, dims: dict[str, int]) -> int:
    try:
        return evaluate(text, dims)
    except ExpressionError as error:
        raise MisuseError(
            f"Task {facts.id}: {key}: {error}.",
            allowed=f"the dims {', '.join(facts.dims)}.",
            action="Give every dim a value.",
        ) from None
