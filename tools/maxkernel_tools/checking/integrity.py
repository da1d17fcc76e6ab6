"""Whether the kernel does the work: Pallas on the path to every output, nothing handed over, nothing smuggled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from maxkernel_tools.checking.explaining import calls_of
from maxkernel_tools.checking.sourcelines import finding, keyword_line
from maxkernel_tools.context import KernelCall
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.runtime import CHANGED, Attempt

_LARGE_CONSTANT_BYTES: Final = 64 << 10
_LEAST_SHARE_INSIDE: Final = 0.5


def of_facts(call: KernelCall, facts: Mapping[str, Any]) -> list[Finding]:
    """Return findings from what the jaxpr at full size says; advice from the child, so it can only convict."""
    source = call.kernel
    calls = calls_of(facts)
    found: list[Finding] = []
    callbacks: list[Mapping[str, Any]] = list(facts.get("callbacks") or [])
    for item in callbacks:
        text, line = f"{item.get('primitive')} hands work to the host, outside the kernel.", item.get("line")
        # a debug print answers nothing, so it cannot launder work
        severity = Severity.WARNING if str(item.get("primitive")).startswith("debug") else Severity.ERROR
        code = FindingCode.INTEGRITY_HOST_CALLBACK
        found.append(finding(source, code, text, line=line, severity=severity, stage=Stage.GUARD))
    for item in calls:
        if item.get("interpret"):
            line = keyword_line(source, item.get("line"), "interpret")
            text = "interpret is left on: the kernel would be emulated, not compiled."
            hint = "Remove interpret; the lab interprets by itself."
            found.append(
                finding(source, FindingCode.INTEGRITY_INTERPRET_LEFT_ON, text, line=line, hint=hint, stage=Stage.GUARD)
            )
    constants = int(facts.get("constant_bytes") or 0)
    if constants > _LARGE_CONSTANT_BYTES:
        text = f"{constants} bytes of constants are captured at trace time (allowed: {_LARGE_CONSTANT_BYTES})."
        hint = "Compute tables inside the kernel, or pass them as inputs."
        found.append(finding(source, FindingCode.INTEGRITY_LARGE_CONSTANT, text, hint=hint, stage=Stage.GUARD))
    task = call.workload.task
    # where the trace could not be read the exported bytes decide: an unread trace is no evidence against a kernel
    if task is not None and task.facts.requires_pallas and "unavailable" not in facts:
        found += _work(call, facts)
    return found


def of_attempts(source: KernelSource, attempts: Iterable[Attempt]) -> list[Finding]:
    """Return findings about what a kernel tried and the walls are there for, whether or not it hid the refusal."""
    distinct = {(item.what, item.line): item for item in attempts}
    found: list[Finding] = []
    for item in distinct.values():
        code, text = FindingCode.INTEGRITY_FORBIDDEN_ACCESS, f"The kernel tried to {item.what}, which is kept from it."
        hint = "A kernel needs its inputs only; remove it."
        if item.event == CHANGED:
            code, text = FindingCode.INTEGRITY_TAMPERING, f"Loading or tracing the kernel did {item.what}."
            hint = "Leave jax, numpy and the lab as they are."
        found.append(finding(source, code, text, line=item.line, hint=hint, stage=Stage.GUARD))
    return found


def _work(call: KernelCall, facts: Mapping[str, Any]) -> list[Finding]:
    source, calls = call.kernel, calls_of(facts)
    if not calls:
        text = "No pallas_call: the task asks for a Pallas kernel."
        return [finding(source, FindingCode.INTEGRITY_NO_PALLAS, text, stage=Stage.GUARD)]
    found: list[Finding] = []
    bare: list[int] = list(facts.get("outputs_without_pallas") or [])
    if bare or not any(item.get("on_output_path") for item in calls):
        which = ", ".join(str(index) for index in bare) or "all"
        text = f"Outputs {which} do not depend on any pallas_call: the kernel is a decoy."
        found.append(
            finding(source, FindingCode.INTEGRITY_DECOY_KERNEL, text, line=calls[0].get("line"), stage=Stage.GUARD)
        )
        return found
    for item in calls:
        if not item.get("on_output_path"):
            text = f"The result of {item.get('name')} is not used."
            found.append(
                finding(
                    source,
                    FindingCode.INTEGRITY_DECOY_KERNEL,
                    text,
                    line=item.get("line"),
                    severity=Severity.WARNING,
                    stage=Stage.GUARD,
                )
            )
    inside, outside = int(facts.get("flops_inside") or 0), int(facts.get("flops_outside") or 0)
    total = inside + outside
    if total and outside > 0 and inside / total < _LEAST_SHARE_INSIDE:
        text = f"{inside / total:.0%} of the arithmetic is inside Pallas kernels; the rest is left to XLA."
        found.append(
            finding(
                source, FindingCode.INTEGRITY_LITTLE_WORK_INSIDE, text, line=calls[0].get("line"), stage=Stage.GUARD
            )
        )
    return found
