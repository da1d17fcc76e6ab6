"""Takes one side of a comparison from source to profile: trace, compile with dumps, model; failures become findings."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread

from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.diagnosing import diagnose_compile, diagnose_trace
from maxkernel_tools.profiling.model import Estimate, analyse
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource, ParamValue
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import CompileReply, CompileRequest, TraceRequest, compile_cpu_s
from maxkernel_tools.schedule.unknown import UnknownFormatError


@dataclass(frozen=True)
class Side:
    """What came of one side: an estimate, or findings that say why there is none."""

    estimate: Estimate | None
    findings: tuple[Finding, ...] = ()
    hlo_text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    compile_ms: int = 0


async def build_side(
    kernel: KernelSource,
    call: KernelCall,
    params: Mapping[str, ParamValue],
    target: Target,
    context: CallContext,
    *,
    is_reference: bool,
    toolchain: str = "default",
) -> Side:
    """Trace and compile ``kernel`` on the call's workload and estimate its device time."""
    traced = await context.runtime.trace(
        TraceRequest(
            kernel=kernel,
            inputs=call.workload.inputs,
            params=params,
            targets=(target,),
            is_reference=is_reference,
            judged=False,
            toolchain=toolchain,
        )
    )
    exported = traced.exported.get(target)
    failed = diagnose_trace(kernel, traced, target)
    if exported is None:
        return Side(None, failed or (_no_answer(target, traced.child.ending),), facts=traced.facts)
    allowed_s = compile_cpu_s(traced.facts)
    compiled = await context.runtime.compile(
        CompileRequest(exported=exported, target=target, dumps=True, cpu_s=allowed_s, toolchain=toolchain)
    )
    if not compiled.ok:
        return Side(None, diagnose_compile(kernel, compiled, traced.facts, target), facts=traced.facts)
    return await estimate_side(compiled, traced.facts, target)


async def estimate_side(compiled: CompileReply, facts: Mapping[str, Any], target: Target) -> Side:
    """Run the model on what a compile left; an unreadable schedule is a finding."""
    made: Estimate | None = None
    findings: tuple[Finding, ...] = ()
    if compiled.dump_dir is None:
        findings = (unavailable(target, "the compile kept no schedule"),)
    else:
        work = functools.partial(analyse, compiled.dump_dir, compiled.hlo_text, facts, target)
        try:
            made = await anyio.to_thread.run_sync(work)
        except UnknownFormatError as error:
            findings = (unavailable(target, str(error)),)
    return Side(made, findings, compiled.hlo_text, facts, compiled.versions, compiled.compile_ms)


def unavailable(target: Target, why: str) -> Finding:
    """Return the finding for a schedule that cannot be had."""
    return Finding(
        code=FindingCode.SCHEDULE_UNAVAILABLE,
        severity=Severity.WARNING,
        stage=Stage.SCHEDULE,
        message=f"There is no time estimate: {why}",
        hint="Use a pinned toolchain version (see describe_environment), or profile on a device.",
        target=target,
    )


def _no_answer(target: Target, ending: str) -> Finding:
    return Finding(
        code=FindingCode.TRACE_ERROR,
        severity=Severity.ERROR,
        stage=Stage.TRACE,
        message=f"Tracing gave neither an export nor an error ({ending}).",
        hint="Run compile_kernel on this file for the details.",
        target=target,
    )
