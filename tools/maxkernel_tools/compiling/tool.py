"""``compile_kernel``: one trace for all targets, then the compiler once per target."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from maxkernel_tools.compiling.differences import differences
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
DEFAULT_TOOLCHAIN: Final = "default"


@dataclass(frozen=True)
class CompileOptions:
    """How to compile.

    Attributes:
        dumps: keep the final schedule (for the time estimate and the VMEM map); slower by 1.1 to 2.6 times.
        toolchains: names; ``default`` is the installed one. Each traces and compiles for every target.
        cpu_s: processor time for one target; by default what the program warrants.
        passes: keep the module after each pass of the Mosaic compiler as well.
    """

    dumps: bool = True
    toolchains: tuple[str, ...] = ("default",)
    cpu_s: float | None = None
    passes: bool = False


@dataclass(frozen=True)
class _Traced:
    call: KernelCall
    reply: TraceReply
    silent: tuple[Finding, ...]
    context: CallContext
    options: CompileOptions
    toolchain: str

    async def compile_for(self, target: Target) -> TargetReport:
        """Compile for one target, the toolchain's name in whatever is said where several were asked."""
        report = await self.compiled_for(target)
        update: dict[str, object] = {"toolchain_name": self.toolchain}
        if len(self.options.toolchains) > 1:
            named = [finding.model_copy(update={"toolchain": self.toolchain}) for finding in report.findings]
            update["findings"] = tuple(named)
        return report.model_copy(update=update)

    def _label(self, target: Target) -> str:
        return target.value if self.toolchain == DEFAULT_TOOLCHAIN else f"{target.value}-{self.toolchain}"

    async def compiled_for(self, target: Target) -> TargetReport:
        kernel, facts = self.call.kernel, self.reply.facts
        silent = tuple(finding for finding in self.silent if finding.target in (None, target))
        before = diagnose_trace(kernel, self.reply, target)
        exported = self.reply.exported.get(target)
        if before or exported is None:
            error = self.reply.errors.get(target) or self.reply.errors.get(None)
            await keep_message(self.context, self._label(target), error, "")
            return target_report(target, None, facts, None, errors_first([*before, *silent]))
        refused = refuse(kernel, facts, target)
        if refused is not None:
            return target_report(target, None, facts, None, errors_first([refused, *silent]))
        compiled = await self.context.runtime.compile(
            CompileRequest(
                exported=exported,
                target=target,
                dumps=self.options.dumps,
                passes=self.options.passes,
                toolchain=self.toolchain,
                cpu_s=self.options.cpu_s or compile_cpu_s(facts),
            )
        )
        found = diagnose_compile(kernel, compiled, facts, target)
        if not compiled.ok:
            await keep_message(self.context, self._label(target), compiled.error, compiled.crash_log)
            return target_report(target, compiled, facts, None, errors_first([*found, *silent]))
        measured = await anyio.to_thread.run_sync(read_vmem_map, compiled.dump_dir)
        await keep_compiled(self.context, self._label(target), exported, compiled, measured)
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
    steps = len(chosen.toolchains) * (len(targets) + 1)
    reports: list[TargetReport] = []
    traces: list[TraceReply] = []
    for toolchain in chosen.toolchains:
        with_ = "" if toolchain == DEFAULT_TOOLCHAIN else f" with {toolchain}"
        await context.progress(len(reports) + len(traces), steps, f"tracing{with_}")
        traced = await _trace(call, targets, context, chosen, toolchain)
        traces.append(traced.reply)
        for target in targets:
            await context.progress(len(reports) + len(traces), steps, f"compiling for {target.value}{with_}")
            reports.append(await traced.compile_for(target))
    findings = _merged(reports)
    reply = next((trace for trace in traces if trace.outputs), traces[0])
    named = differences(reports)
    return CompileResult(
        ok=bool(reports) and all(report.ok for report in reports),
        run_id=context.run_id,
        summary=" ".join([summary_line(reports, findings), *named[:1]]),
        findings=findings,
        targets=tuple(reports),
        outputs=tuple(str(spec) for spec in reply.outputs),
        program_sha256=str(reply.facts.get("program_sha256") or ""),
        differences=named,
        took_ms=round((time.monotonic() - started) * 1000),
    )


async def _trace(
    call: KernelCall, targets: tuple[Target, ...], context: CallContext, options: CompileOptions, toolchain: str
) -> _Traced:
    reply = await context.runtime.trace(
        TraceRequest(
            kernel=call.kernel,
            inputs=call.workload.inputs,
            params=call.params,
            targets=targets,
            timeout_s=TRACE_TIMEOUT_S,
            toolchain=toolchain,
            judged=False,
        )
    )
    return _Traced(call, reply, silent_findings(call.kernel, reply.facts), context, options, toolchain)


def _merged(reports: list[TargetReport]) -> tuple[Finding, ...]:
    """All findings, those that say the same of every target and toolchain once and without either."""
    anywhere = {"target": None, "toolchain": None}
    merged: list[Finding] = []
    for report in reports:
        for finding in report.findings:
            plain = finding.model_copy(update=anywhere)
            everywhere = len(reports) > 1 and all(
                any(other.model_copy(update=anywhere) == plain for other in each.findings) for each in reports
            )
            shown = plain if everywhere else finding
            if shown not in merged:
                merged.append(shown)
    return errors_first(merged)
