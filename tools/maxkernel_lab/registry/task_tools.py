"""Handlers of ``list_tasks`` and ``get_task``: what is to be computed, and what is known about its speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from maxkernel_lab.registry.arguments import GetTaskArguments, ListTasksArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.workloads import workload
from maxkernel_lab.store import RunArtifacts, RunRow
from maxkernel_lab.store.identity import task_run_id
from maxkernel_tools.context import Progress, Workload
from maxkernel_tools.errors import MisuseError, UnavailableError
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.tasks import ReferenceGraph, TaskFacts, TaskLine, TaskListResult, TaskResult

if TYPE_CHECKING:
    from maxkernel_tools.runtime import TraceReply


async def list_tasks(services: Services, arguments: ListTasksArguments, progress: Progress) -> ToolResult:  # noqa: ARG001
    """Handle ``list_tasks``."""
    tasks = await anyio.to_thread.run_sync(services.catalog.list)
    words = arguments.query.casefold().split()
    found = [
        task.facts
        for task in tasks
        if (not arguments.tier or task.facts.tier == arguments.tier)
        and all(word in f"{task.facts.id} {task.facts.title} {task.facts.operator}".casefold() for word in words)
    ]
    shown = found[: arguments.limit]
    rest = f" ({len(shown)} shown)" if len(shown) < len(found) else ""
    return TaskListResult(
        ok=True,
        summary=f"{len(found)} of {len(tasks)} tasks{rest}. get_task tells more about one.",
        tasks=tuple(
            TaskLine(
                id=facts.id,
                tier=facts.tier,
                operator=facts.operator,
                title=facts.title,
                labels=tuple(label.name for label in facts.labels),
            )
            for facts in shown
        ),
        total=len(found),
    )


async def get_task(services: Services, arguments: GetTaskArguments, progress: Progress) -> ToolResult:
    """Handle ``get_task``: for a task, or for a caller's own reference with its inputs."""
    wanted = workload(
        services,
        task=arguments.task,
        inputs=arguments.inputs,
        reference=arguments.reference,
        reference_path=arguments.reference_path,
    )
    if wanted.reference is None:
        raise MisuseError(
            "Neither a task nor a reference was given.",
            allowed="task; or reference or reference_path, with inputs.",
            action="Pass one; list_tasks shows the tasks.",
        )
    await progress(0, 2, "reading the reference")
    graph, findings, outputs = await _graph(services, wanted)
    await progress(1, 2, "looking up the chips")
    sink = await _task_run(services, wanted)
    await sink.put("reference.py", "reference-source", wanted.reference.text)
    if graph is not None:
        await sink.put("reference-graph.json", "reference-graph", graph.model_dump_json(indent=1))
    base = TaskResult(
        ok=True,
        run_id=sink.run_id,
        summary="",
        findings=findings,
        artifacts=tuple(sink.kept),
        input_specs=tuple(str(spec) for spec in wanted.inputs),
        output_specs=tuple(str(spec) for spec in outputs),
        reference_source=wanted.reference.text,
        reference_graph=graph,
    )
    if wanted.task is None:
        return base.model_copy(update={"summary": f"Your reference on {wanted.label}."})
    return _with_facts(base, wanted.task.facts)


def _with_facts(base: TaskResult, facts: TaskFacts) -> TaskResult:
    """Add what ``task.toml`` says."""
    from maxkernel_tools.tasks import flops, hbm_bytes, output_specs  # noqa: PLC0415 - kept out of the server's start

    work = int(flops(facts, facts.dims))
    moved = int(hbm_bytes(facts, facts.dims, facts.dtype))
    roofline = _roofline(work, moved, facts.dtype)
    times = ", ".join(f"{target} {time:.1f} µs" for target, time in roofline.items())
    return base.model_copy(
        update={
            "task": facts,
            "summary": f"{facts.id}: {facts.title}. {work:.3g} flops, {moved:.3g} bytes; roofline {times}.",
            "output_specs": tuple(str(spec) for spec in output_specs(facts, facts.dims, facts.dtype)),
            "flops": work,
            "bytes": moved,
            "roofline_us": roofline,
        }
    )


def _roofline(flops: int, moved: int, dtype: str) -> dict[str, float]:
    """Return the least time each chip needs, from its published peaks."""
    from maxkernel_tools.chips import roofline_us  # noqa: PLC0415 - kept out of the server's start

    return {target.value: round(roofline_us(target, flops, moved, dtype), 3) for target in Target}


async def _graph(
    services: Services, wanted: Workload
) -> tuple[ReferenceGraph | None, tuple[Finding, ...], tuple[ArraySpec, ...]]:
    """Return the reference's jaxpr as data, or a finding that says why there is none."""
    from maxkernel_tools.runtime import TraceRequest  # noqa: PLC0415 - brings numpy

    if wanted.reference is None:
        return None, (), ()
    request = TraceRequest(kernel=wanted.reference, inputs=wanted.inputs, is_reference=True)
    try:
        reply = await services.runtime.trace(request)
    except UnavailableError as error:
        return None, (_note(f"The reference was not traced: {error}", FindingCode.MACHINERY_FAILED),), ()
    if reply.errors or "reference_graph" not in reply.facts:
        return None, (_untraced(reply),), reply.outputs
    raw = reply.facts["reference_graph"]
    graph = raw if isinstance(raw, ReferenceGraph) else ReferenceGraph.model_validate(raw)
    return graph, (), reply.outputs


def _untraced(reply: TraceReply) -> Finding:
    error = next(iter(reply.errors.values()), None)
    if error is None:
        return _note("The reference gave no graph.", FindingCode.TRACE_ERROR)
    line = next((frame.line for frame in reversed(error.frames) if frame.file.endswith("kernel.py")), None)
    finding = _note(f"The reference cannot be traced: {error.type_name}: {error.message}", FindingCode.TRACE_ERROR)
    return finding.model_copy(update={"line": line, "severity": Severity.WARNING})


def _note(message: str, code: FindingCode) -> Finding:
    return Finding(code=code, severity=Severity.NOTE, stage=Stage.TRACE, message=message[:2000])


async def _task_run(services: Services, wanted: Workload) -> RunArtifacts:
    task, reference = wanted.task, wanted.reference
    digest = task.sha256 if task else (reference.sha256 if reference else "")
    run_id = task_run_id(wanted.label, digest)
    row = RunRow(
        run_id=run_id,
        label=wanted.label,
        kind="task",
        task=task.facts.id if task else None,
        split=task.facts.split if task else None,
        inputs=tuple(str(spec) for spec in wanted.inputs),
        source_sha256=reference.sha256 if reference else None,
    )
    await anyio.to_thread.run_sync(services.store.ensure_run, row)
    return RunArtifacts(services.store, run_id)
