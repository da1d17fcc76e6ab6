"""``test_kernel``: does a kernel compute what is asked, judged in processes its code never enters.

Owns the order: static rules, a trace at full size, the questions, the answers, the integrity checks, the verdict.
What an answer may differ by is ``tolerance``; which shapes are asked is ``planning``; what a difference means is
``explaining``.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Final

from maxkernel_tools.checking import integrity, planning, running
from maxkernel_tools.checking.deciding import Decision, decide
from maxkernel_tools.checking.exports import of_exports, of_repeats
from maxkernel_tools.checking.receipts import receipt
from maxkernel_tools.checking.shapes import task_dtype
from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.diagnosing import diagnose_trace
from maxkernel_tools.guards import inspect_source
from maxkernel_tools.records.findings import Finding, FindingCode, Severity
from maxkernel_tools.records.results import Artifact, errors_first, has_errors
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.verdicts import Receipt, TestLevel, TestResult, Verdict
from maxkernel_tools.runtime import TraceReply, TraceRequest

_TIMEOUT_S: Final[dict[TestLevel, float]] = {"quick": 45.0, "full": 240.0, "sanitize": 180.0}


async def test_kernel(
    call: KernelCall,
    level: TestLevel,
    context: CallContext,
    *,
    target: Target = Target.V6E,  # noqa: PT028 - a tool of that name, not a test
) -> TestResult:
    """Judge a kernel on its workload.

    Args:
        call: the candidate and what it has to compute.
        level: ``quick`` (two small shapes), ``full`` (the family, shapes against its blocks, scales, sensitivity),
            ``sanitize`` (races on one and two cores, unwritten memory, bounds, both copy modes, deadlocks).
        context: where to run and report.
        target: the generation whose tiling and device kind the kernel sees.

    Returns:
        The verdict with the cases, findings and sandbox it rests on; ``ok`` only if it is ``correct``.

    Raises:
        MisuseError: the reference fails. MachineryError: the lab itself failed.
    """
    asked = _Asked(call, level, context.run_id, time.monotonic())
    guarded = list(inspect_source(call.kernel))
    if has_errors(guarded):
        return _result(asked, "rejected", guarded)
    await context.progress(0, 3, "tracing at full size")
    request = TraceRequest(kernel=call.kernel, inputs=call.workload.inputs, params=call.params, targets=(target,))
    full = await context.runtime.trace(request)
    tried = integrity.of_attempts(call.kernel, full.attempts)
    if tried:
        return _result(asked, "rejected", [*guarded, *tried], full=full)
    failed = list(diagnose_trace(call.kernel, full, target))
    if failed and not full.facts:
        verdict: Verdict = "incorrect" if full.child.ending in ("completed", "raised") else _ended(full)
        return _result(asked, verdict, [*guarded, *failed], full=full)
    inside = [*guarded, *failed, *integrity.of_facts(call, full.facts)]
    if has_errors(inside) and any(item.code.value.startswith("integrity") for item in inside if _is_error(item)):
        return _result(asked, "rejected", inside, full=full)
    await context.progress(1, 3, "drawing inputs, computing the oracle, interpreting")
    chosen = await planning.choose_shapes(call, level, full, context)
    questions = planning.ask(level, chosen, len(call.workload.inputs))
    session = await running.run(call, questions, context, target=target, timeout_s=_TIMEOUT_S[level])
    await context.progress(2, 3, "comparing")
    judged = call.workload.reference is not None
    decision = decide(call.kernel, level, session, full.facts, task_dtype(call.workload), judged=judged)
    replies = [answer.judged.reply for answer in session.answers if answer.judged is not None]
    inside += integrity.of_attempts(call.kernel, [item for reply in replies for item in reply.attempts])
    inside += await of_exports(call, full, session, context, target)
    if level != "quick":
        inside += await of_repeats(call, request, full, context, target)
    decision = _with_integrity(decision, inside)
    versions = await context.runtime.versions()
    proof: Receipt | None = None
    if decision.verdict == "correct":
        proof = receipt(
            call,
            level=level,
            target=target,
            options=[answer.question.options for answer in session.answers],
            versions=versions,
            seeds=[item.seed for item in decision.cases if item.seed is not None],
            imported_files=full.imported_files,
        )
    artifact = await context.artifacts.put("test-cases.json", "test-cases", _table(decision))
    return _result(
        asked,
        decision.verdict,
        [*inside, *decision.findings],
        full=full,
        session=session,
        decision=decision,
        proof=proof,
        artifacts=(artifact,),
    )


def _with_integrity(decision: Decision, inside: list[Finding]) -> Decision:
    """Let integrity findings decide: an error rejects, an unexplained mismatch leaves the verdict open."""
    errors = [item for item in inside if _is_error(item)]
    if any(item.code.value.startswith("integrity") for item in errors):
        return replace(decision, verdict="rejected", reason="")
    if errors and decision.verdict == "correct":
        return replace(decision, verdict="incorrect", reason="")
    doubts = [item for item in inside if item.code is FindingCode.INTEGRITY_TRACE_MISMATCH]
    if doubts and decision.verdict == "correct":
        return replace(decision, verdict="inconclusive", reason=doubts[0].message)
    return decision


def _is_error(item: Finding) -> bool:
    return item.severity is Severity.ERROR


def _ended(full: TraceReply) -> Verdict:
    return "timed-out" if full.child.ending == "timed-out" else "crashed"


def _table(decision: Decision) -> str:
    return json.dumps([case.model_dump(mode="json") for case in decision.cases], indent=1)


@dataclass(frozen=True)
class _Asked:
    call: KernelCall
    level: TestLevel
    run_id: str
    started: float


def _result(
    asked: _Asked,
    verdict: Verdict,
    findings: list[Finding],
    *,
    full: TraceReply | None = None,
    session: running.Session | None = None,
    decision: Decision | None = None,
    proof: Receipt | None = None,
    artifacts: tuple[Artifact, ...] = (),
) -> TestResult:
    child = session.child if session else (full.child if full else None)
    ordered = errors_first(findings)
    return TestResult(
        ok=verdict == "correct",
        run_id=asked.run_id,
        summary=_summary(asked.call, asked.level, verdict, ordered, decision),
        findings=ordered,
        artifacts=artifacts,
        took_ms=round(1000 * (time.monotonic() - asked.started)),
        verdict=verdict,
        level=asked.level,
        cases=decision.cases if decision else (),
        sanitizer=decision.sanitizer if decision else None,
        sandbox=child.sandbox if child else None,
        unexercised=decision.unexercised if decision else (),
        shape_generality=decision.generality if decision else "",
        receipt=proof,
    )


def _summary(
    call: KernelCall, level: TestLevel, verdict: Verdict, findings: tuple[Finding, ...], decision: Decision | None
) -> str:
    what = call.workload.label
    if verdict == "correct" and decision is not None:
        worst = max((case.max_rel_err or 0.0 for case in decision.cases), default=0.0)
        allowed = min((case.allowed for case in decision.cases if case.allowed), default=0.0)
        return (
            f"Correct for {what} at level {level}: {len(decision.cases)} cases, largest error {worst:.2g} of the "
            f"spread (allowed {allowed:.2g}). Interpreted, not run on a chip."
        )
    if verdict == "inconclusive" and decision is not None:
        return f"Inconclusive for {what}: {decision.reason}."
    first = next((item for item in findings if _is_error(item)), None)
    return f"{verdict.capitalize()} for {what}: {first.message if first else 'see the findings.'}"
