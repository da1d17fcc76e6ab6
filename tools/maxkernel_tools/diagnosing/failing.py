"""Findings for a kernel that was refused: by Python, by the lowering, by the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxkernel_tools.chips import chip
from maxkernel_tools.diagnosing.endings import blowup, child_failure, compiler_crash
from maxkernel_tools.diagnosing.evidence import Draft, Evidence, finish
from maxkernel_tools.diagnosing.rules import classify
from maxkernel_tools.diagnosing.rules.memory import vmem_draft
from maxkernel_tools.diagnosing.windows import largest_temporary
from maxkernel_tools.diagnosing.wording import mib
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import CompileReply, RawError, TraceReply

_NOWHERE = RawError(type_name="", message="", phase="compile")


def diagnose_trace(kernel: KernelSource, reply: TraceReply, target: Target | None) -> tuple[Finding, ...]:
    """Findings for what stopped a kernel before the compiler, for one target; empty where nothing did."""
    ended = child_failure(reply.child, Stage.TRACE, "Loading and tracing")
    if ended is not None:
        return (finish(ended, kernel, Stage.TRACE, None),)
    error = reply.errors.get(None) or (reply.errors.get(target) if target is not None else None)
    if error is None:
        return ()
    return diagnose_error(kernel, error, reply.facts, target)


def diagnose_error(
    kernel: KernelSource, error: RawError, facts: Mapping[str, Any], target: Target | None
) -> tuple[Finding, ...]:
    """Findings for one raised error."""
    evidence = Evidence(kernel=kernel, error=error, facts=facts, target=target)
    draft = classify(evidence)
    findings = [finish(draft, kernel, evidence.stage, target)]
    if draft.code is FindingCode.INT64_UNSUPPORTED:
        switched = evidence.source.text_line("jax_enable_x64", "enable_x64")
        if switched is not None:
            findings.append(finish(_x64(switched), kernel, evidence.stage, target))
    return tuple(findings)


def _x64(line: int) -> Draft:
    return Draft(
        FindingCode.X64_ENABLED,
        "64-bit types are switched on for the whole process, which makes Python numbers 64-bit inside kernels.",
        "Remove the switch; nothing on a TPU computes in 64 bits.",
        line=line,
        severity=Severity.WARNING,
    )


def diagnose_compile(
    kernel: KernelSource, reply: CompileReply, facts: Mapping[str, Any], target: Target
) -> tuple[Finding, ...]:
    """Findings for what the compiler refused or died of; empty where it compiled."""
    if reply.ok:
        return ()
    error = reply.error or _NOWHERE
    evidence = Evidence(kernel=kernel, error=error, facts=facts, target=target)
    grown = blowup(reply.error, reply.child)
    if grown is not None and grown.code is FindingCode.TIMED_OUT:
        return (finish(grown, kernel, Stage.COMPILE, target),)
    if grown is not None:
        return _too_much(kernel, grown, evidence)
    if reply.child.ending in ("crashed", "exited") or (reply.error is None and reply.crash_log):
        return (finish(compiler_crash(evidence, reply.crash_log, reply.child), kernel, Stage.COMPILE, target),)
    return diagnose_error(kernel, error, facts, target)


def _too_much(kernel: KernelSource, grown: Draft, evidence: Evidence) -> tuple[Finding, ...]:
    """The compiler gave up; where the body's own values exceed VMEM, that is the likely end of it."""
    target = evidence.target or Target.V6E
    for call in evidence.calls:
        temporary = largest_temporary(call)
        limit = int(call.get("vmem_limit_bytes") or chip(target).scoped_vmem_bytes)
        if temporary is None or int(temporary["bytes"]) < limit // 2:
            continue
        line = temporary.get("line")
        likely = Draft(
            FindingCode.VMEM_OOM,
            f"Likely, though the compiler did not get as far as saying so: the body computes {temporary['array']} "
            f"({mib(temporary['bytes'])}) at this line, and {target.value} lets a kernel use {mib(limit)}.",
            "Work on fewer rows at a time: add a grid axis (or lax.fori_loop) over the rows of this value, for "
            "example 128 per step.",
            line=line,
            severity=Severity.WARNING,
        )
        placed = Draft(grown.code, grown.message, likely.hint, line=line, stage=grown.stage)
        return tuple(finish(draft, kernel, Stage.COMPILE, target) for draft in (placed, likely))
    placed = Draft(grown.code, grown.message, grown.hint, line=largest_body_line(evidence.facts), stage=grown.stage)
    return (finish(placed, kernel, Stage.COMPILE, target),)


def largest_body_line(facts: Mapping[str, Any]) -> int | None:
    """The line of the kernel with the most equations, for want of a better one."""
    calls: list[Mapping[str, Any]] = list(facts.get("pallas_calls", ()))
    largest = max(calls, key=lambda call: int(call.get("equations", 0) or 0), default=None)
    return None if largest is None else largest.get("function_line") or largest.get("line")


def hopeless(kernel: KernelSource, call: Mapping[str, Any], used: int, limit: int, target: Target) -> Finding:
    """The finding for a kernel whose windows alone cannot fit, known without compiling."""
    evidence = Evidence(kernel=kernel, error=_NOWHERE, facts={"pallas_calls": [call]}, target=target)
    draft = vmem_draft(evidence, used, limit)
    message = f"{draft.message} Known from the blocks alone; the compiler was not run."
    return finish(
        Draft(draft.code, message, draft.hint, line=draft.line, stage=Stage.COMPILE), kernel, Stage.COMPILE, target
    )
