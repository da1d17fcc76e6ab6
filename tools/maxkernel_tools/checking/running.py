"""Put the questions: draw inputs and oracle in one process, run the candidate in another, compare in this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from maxkernel_tools.checking import planning, shapes
from maxkernel_tools.checking.at_once import all_of
from maxkernel_tools.checking.comparing import Comparison, compare
from maxkernel_tools.checking.explaining import Judged, calls_of
from maxkernel_tools.checking.gridsteps import step_text
from maxkernel_tools.checking.planning import Question
from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.errors import MachineryError, MisuseError
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import (
    CaseReply,
    ChildReport,
    InterpretCase,
    InterpretReply,
    InterpretRequest,
    ReferenceReply,
    ReferenceRequest,
)

_ORACLE_F64_BYTES: Final = 64 << 20
_NO_REFERENCE: Final = KernelSource(text="")


@dataclass(frozen=True)
class Answered:
    """One question, what is right, and what the candidate answered (``judged`` is None where its process had ended)."""

    question: Question
    truth: ReferenceReply
    judged: Judged | None


@dataclass(frozen=True)
class Session:
    """All answers of one candidate, and how its process ended."""

    answers: tuple[Answered, ...]
    child: ChildReport
    load_error: InterpretReply | None = None

    @property
    def answers_given(self) -> bool:
        """Whether any case was answered at all."""
        return any(answer.judged is not None for answer in self.answers)


async def run(
    call: KernelCall, questions: Sequence[Question], context: CallContext, *, target: Target, timeout_s: float
) -> Session:
    """Answer every question.

    Raises:
        MisuseError: the reference itself fails; the message says how.
    """
    questions, truths = await _truths(call, questions, context)
    cases = tuple(
        InterpretCase(inputs=truth.inputs, options=question.options)
        for question, truth in zip(questions, truths, strict=True)
    )
    request = InterpretRequest(
        kernel=call.kernel, cases=cases, params=call.params, target=target, export=True, timeout_s=timeout_s
    )
    reply = await context.runtime.interpret(request)
    answers = [
        Answered(
            question, truth, _judge(call, question, truth, reply.cases[index]) if index < len(reply.cases) else None
        )
        for index, (question, truth) in enumerate(zip(questions, truths, strict=True))
    ]
    return Session(tuple(answers), reply.child, reply if reply.error is not None else None)


async def _truths(
    call: KernelCall, questions: Sequence[Question], context: CallContext
) -> tuple[list[Question], list[ReferenceReply]]:
    """Draw and compute; questions about one changed input are asked after their base is drawn."""
    plain = {_key(question): question for question in questions if question.sensitivity_to is None}
    known = await _gather(call, plain, context)
    final: list[Question] = []
    for question in questions:
        if question.sensitivity_to is None:
            final.append(question)
            continue
        base = known.get(_key(question))
        if base is None or question.sensitivity_to >= len(base.inputs):
            continue
        array = planning.changed_input(base.inputs[question.sensitivity_to], planning.secret_seed())
        if array is not None:
            final.append(replace(question, overrides={question.sensitivity_to: array}))
    changed = {(*_key(question), question.sensitivity_to): question for question in final if question.overrides}
    extra = await _gather(call, changed, context)
    replies = [
        extra[*_key(question), question.sensitivity_to] if question.overrides else known[_key(question)]
        for question in final
    ]
    return final, replies


def _key(question: Question) -> tuple[str, int, float]:
    return (question.shape.name, question.seed, question.scale)


async def _gather(call: KernelCall, wanted: Mapping[Any, Question], context: CallContext) -> dict[Any, ReferenceReply]:
    replies = await all_of([partial(_truth, call, question, context) for question in wanted.values()])
    return dict(zip(wanted, replies, strict=True))


async def _truth(call: KernelCall, question: Question, context: CallContext) -> ReferenceReply:
    workload = call.workload
    size = sum(spec.nbytes for spec in question.shape.specs)
    request = ReferenceRequest(
        source=workload.reference or _NO_REFERENCE,
        seed=question.seed,
        dtype=shapes.task_dtype(workload),
        dims=question.shape.dims,
        specs=question.shape.specs,
        oracle="f64" if size <= _ORACLE_F64_BYTES else "f32",
        only_inputs=workload.reference is None,
        scale=question.scale,
        overrides=question.overrides,
    )
    reply = await context.runtime.reference(request)
    if reply.error is not None:
        lines = reply.error.message.strip().splitlines()
        raise MisuseError(
            f"The reference failed on {', '.join(str(spec) for spec in question.shape.specs)}: "
            f"{reply.error.type_name}: {lines[-1][:300] if lines else ''}.",
            allowed="a reference whose workload(*inputs) runs as plain jax on the CPU.",
            action="Mend the reference, or the inputs given with it.",
        )
    if not reply.inputs:
        raise MachineryError(f"The reference's process ended without inputs ({reply.child.ending}).")
    return reply


def _judge(call: KernelCall, question: Question, truth: ReferenceReply, reply: CaseReply) -> Judged:
    if reply.error is not None or not truth.outputs:
        return Judged(reply)
    if len(reply.outputs) != len(truth.outputs):
        text = f"{len(reply.outputs)} outputs are returned, {len(truth.outputs)} are asked for"
        return Judged(reply, (Comparison(passed=False, kind="shape", explanation=text),))
    if _tree(reply.tree) != _tree(truth.tree):
        text = f"the result is arranged as {reply.tree}, {truth.tree} is asked for"
        return Judged(reply, (Comparison(passed=False, kind="shape", explanation=text),))
    task = call.workload.task
    policy = task.facts.tolerance if task else None
    found: list[Comparison] = []
    for index, (actual, reference, oracle) in enumerate(
        zip(reply.outputs, truth.outputs, truth.oracle or truth.outputs, strict=True)
    ):
        kernel, output = _written_by(reply, index, actual)
        block = tuple(int(size) for size in output.get("block", ()))
        item = compare(actual, reference, oracle, policy, reduction=_reduction(call, question), block=block)
        step = step_text(kernel, output, item.first_bad_index, actual.shape) if item.first_bad_index else ""
        found.append(replace(item, explanation=f"{item.explanation}; written at {step}") if step else item)
    return Judged(reply, tuple(found))


def _tree(text: str) -> str:
    """A list where a tuple is asked for is the same structure to a caller."""
    return text.replace("[", "(").replace("]", ")").replace(",)", ")")


def _reduction(call: KernelCall, question: Question) -> int:
    task = call.workload.task
    names = task.facts.tolerance.reduction_dims if task else ()
    known = [question.shape.dims[name] for name in names if name in question.shape.dims]
    if known:
        return int(np.prod(known))
    # without a task any extent may be summed over
    return max((extent for spec in question.shape.specs for extent in spec.shape), default=1)


def _written_by(
    reply: CaseReply, index: int, actual: np.ndarray[Any, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the last kernel call whose output ``index`` has this rank, and that output; empty where none has."""
    for call in reversed(calls_of(reply.facts)):
        outputs = [operand for operand in call.get("operands", []) if operand["kind"] == "out"]
        if index < len(outputs) and len(outputs[index].get("block", ())) == actual.ndim:
            return call, outputs[index]
    return {}, {}
