"""``compile_kernel``: one trace for all targets, then the compiler once per target."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from maxkernel_tools.compiling.estimating import estimated
from maxkernel_tools.compiling.keeping import keep_compiled, keep_message
from maxkernel_tools.compiling.refusing import refuse
from maxkernel_tools.compiling.reports import target_report
from maxkernel_tools.compiling.summary import summary_line
from maxkernel_tools.compiling.vmem_map import read_vmem_map
from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.diagnosing import diagnose_compile, diagnose_trace, silent_findings
from maxkernel_tools.records.compiles import CompileResult, TargetReport
from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.results import errors_first
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import CompileRequest, TraceReply, TraceRequest, compile_cpu_s

TRACE_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True)
class CompileOptions:
    """How to compile.

    Attributes:
        dumps: keep the final schedule (for the time estimate and the VMEM map); slower by 1.1 to 2.6 times.
        toolchain: name of the toolchain; ``default`` is the installed one.
        cpu_s: processor time for one target; by default what the program warrants.
    """

    dumps: bool = True
    toolchain: str = "default"
    cpu_s: float | None = None


@dataclass(frozen=True)
class _Traced:
    call: KernelCall
    reply: TraceReply
    silent: tuple[Finding, ...]
    context: CallContext
    options: CompileOptions

    async def compiled_for(self, target: Target) -> TargetReport:
        kernel, facts = self.call.kernel, self.reply.facts
        silent = tuple(finding for finding in self.silent if finding.target in (None, target))
        before = diagnose_trace(kernel, self.reply, target)
        exported = self.reply.exported.get(target)
        if before or exported is None:
            error = self.reply.errors.get(target) or self.reply.errors.get(None)
            await keep_message(self.context, target, error, "")
            return target_report(target, None, facts, None, errors_first([*before, *silent]))
        refused = refuse(kernel, facts, target)
        if refused is not None:
            return target_report(target, None, facts, None, errors_first([refused, *silent]))
        compiled = await self.context.runtime.compile(
            CompileRequest(
                exported=exported,
                target=target,
                dumps=self.options.dumps,
                toolchain=self.options.toolchain,
                cpu_s=self.options.cpu_s or compile_cpu_s(facts),
            )
        )
        found = diagnose_compile(kernel, compiled, facts, target)
        if not compiled.ok:
            await keep_message(self.context, target, compiled.error, compiled.crash_log)
            return target_report(target, compiled, facts, None, errors_first([*found, *silent]))
        measured = await anyio.to_thread.run_sync(read_vmem_map, compiled.dump_dir)
        await keep_compiled(self.context, target, exported, compiled, measured)
        report = target_report(target, compiled, facts, measured, errors_first([*found, *silent]))
        return await estimated(report, compiled, facts)


async def compile_kernel(
    call: KernelCall, targets: tuple[Target, ...], context: CallContext, options: CompileOptions | None = None
) -> CompileResult:
    """Compile one kernel for every target with the real TPU compiler and say what it answered.

    Args:
        call: the kernel, its inputs and parameters.
        targets: TPU generations; each is compiled, one trace serves them all.
        context: runtime, artifacts, progress.
        options: how to compile.

    Raises:
        MachineryError: the lab failed; nothing is said about the kernel.
    """
    started = time.monotonic()
    chosen = options or CompileOptions()
    await context.progress(0, len(targets) + 1, "tracing")
    reply = await context.runtime.trace(
        TraceRequest(
            kernel=call.kernel,
            inputs=call.workload.inputs,
            params=call.params,
            targets=targets,
            timeout_s=TRACE_TIMEOUT_S,
            toolchain=chosen.toolchain,
        )
    )
    traced = _Traced(call, reply, silent_findings(call.kernel, reply.facts), context, chosen)
    reports: list[TargetReport] = []
    for number, target in enumerate(targets):
        await context.progress(number + 1, len(targets) + 1, f"compiling for {target.value}")
        reports.append(await traced.compiled_for(target))
    findings = _merged(reports)
    return CompileResult(
        ok=bool(reports) and all(report.ok for report in reports),
        run_id=context.run_id,
        summary=summary_line(reports, findings),
        findings=findings,
        targets=tuple(reports),
        outputs=tuple(str(spec) for spec in reply.outputs),
        program_sha256=str(reply.facts.get("program_sha256") or ""),
        took_ms=round((time.monotonic() - started) * 1000),
    )


def _merged(reports: list[TargetReport]) -> tuple[Finding, ...]:
    """All targets' findings, those that say the same of every target once and without one."""
    merged: list[Finding] = []
    for report in reports:
        for finding in report.findings:
            plain = finding.model_copy(update={"target": None})
            everywhere = len(reports) > 1 and all(
                any(other.model_copy(update={"target": None}) == plain for other in each.findings) for each in reports
            )
            shown = plain if everywhere else finding
            if shown not in merged:
                merged.append(shown)
    return errors_first(merged)
