"""Handlers of compile, test and profile: arguments to a call, the call to the tool, the answer into the run store.

What the tools mean lives in ``maxkernel_tools``; it is imported at the first call, so that a server starts without
numpy's and protobuf's import time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread
from pydantic import ValidationError

from maxkernel_lab.registry.arguments import CompileArguments, ProfileArguments, TestArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.workloads import kernel_call, one_target, targets, toolchain_names
from maxkernel_lab.store import RunArtifacts, RunRow, StageRow, run_id_of
from maxkernel_lab.store.csv_report import write_results_csv
from maxkernel_tools.context import CallContext, KernelCall, Progress
from maxkernel_tools.errors import MisuseError, UnavailableError
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.profiles import ProfileResult, SideProfile
from maxkernel_tools.records.results import ToolResult, errors_first
from maxkernel_tools.records.verdicts import TestLevel, TestResult

if TYPE_CHECKING:
    from typing import Literal

    from maxkernel_tools.records.targets import Target

BENCHMARK: Final = "jaxbench"
SOURCE_ARTIFACT: Final = "kernel.py"
REFERENCE_ARTIFACT: Final = "reference.py"
ResultT = TypeVar("ResultT", bound=ToolResult)


async def compile_kernel(services: Services, arguments: CompileArguments, progress: Progress) -> ToolResult:
    """Handle ``compile_kernel``."""
    chosen = targets(services, arguments.targets)
    call = kernel_call(services, arguments)
    from maxkernel_tools.compiling import CompileOptions  # noqa: PLC0415 - see the module's docstring
    from maxkernel_tools.compiling import compile_kernel as tool  # noqa: PLC0415 - likewise

    toolchains = toolchain_names(services, arguments.toolchain)
    options = CompileOptions(dumps=arguments.dumps, toolchains=toolchains, passes=arguments.passes)
    context, sink = await open_run(services, call, progress)
    result: CompileResult = await tool(call, chosen, context, options)
    first = next((report for report in result.targets if report.estimated_us is not None), None)
    return await keep(
        services,
        result,
        sink,
        StageRow(
            run_id=context.run_id,
            stage="compile",
            ok=result.ok,
            summary=result.summary,
            result={},
            target=",".join(target.value for target in chosen),
            time_us=first.estimated_us if first else None,
            time_source=first.estimate_source if first else None,
        ),
    )


async def test_kernel(services: Services, arguments: TestArguments, progress: Progress) -> ToolResult:
    """Handle ``test_kernel``."""
    target = one_target(services, arguments.target)
    call = kernel_call(services, arguments, reference=arguments.reference, reference_path=arguments.reference_path)
    if call.workload.reference is None:
        raise MisuseError(
            "There is nothing to compare with: neither a task nor a reference was given.",
            allowed="a task, or inputs with reference (text) or reference_path (a plain JAX file defining workload).",
            action="Pass one.",
        )
    return await judge(services, call, arguments.level, target, progress)


async def judge(
    services: Services, call: KernelCall, level: TestLevel, target: Target, progress: Progress
) -> TestResult:
    """Test a candidate, with the stage in the record of its own run."""
    from maxkernel_tools.checking import test_kernel as tool  # noqa: PLC0415 - see the module's docstring

    context, sink = await open_run(services, call, progress)
    result: TestResult = await tool(call, level, context, target=target)
    row = StageRow(
        run_id=context.run_id,
        stage="test",
        ok=result.ok,
        summary=result.summary,
        result={},
        target=target.value,
        mode="hardened",
        verdict=result.verdict,
    )
    return await keep(services, result, sink, row)


async def profile_kernel(services: Services, arguments: ProfileArguments, progress: Progress) -> ToolResult:
    """Handle ``profile_kernel``."""
    target = one_target(services, arguments.target)
    call = kernel_call(services, arguments, reference=arguments.reference, reference_path=arguments.reference_path)
    if arguments.mode == "device":
        raise UnavailableError(
            "This lab has no TPU, so nothing can be measured here. Use mode=estimate, or run the server on a TPU host."
        )
    against: SideProfile | Literal["reference", "none"]
    if arguments.against in {"reference", "none"}:
        against = "reference" if arguments.against == "reference" else "none"
        if call.workload.reference is None:
            against = "none"
    else:
        against = _earlier_profile(services, arguments.against, target.value)
    from maxkernel_tools.profiling import profile_kernel as tool  # noqa: PLC0415 - see the module's docstring

    context, sink = await open_run(services, call, progress)
    (toolchain,) = toolchain_names(services, (arguments.toolchain,) if arguments.toolchain else ())
    result: ProfileResult = await tool(call, target, against, context, toolchain=toolchain)
    row = StageRow(
        run_id=context.run_id,
        stage="profile",
        ok=result.ok,
        summary=result.summary,
        result={},
        target=target.value,
        time_us=result.time_us,
        time_source=result.time_source,
        speedup=result.speedup.value if result.speedup else None,
    )
    return await keep(services, result, sink, row)


async def open_run(services: Services, call: KernelCall, progress: Progress) -> tuple[CallContext, RunArtifacts]:
    """Make the run's record with its source, and return what the tool is given."""
    run_id = run_id_of(call)
    task = call.workload.task
    folder = task.folder if task else None
    row = RunRow(
        run_id=run_id,
        label=call.workload.label,
        task=task.facts.id if task else None,
        benchmark=BENCHMARK if folder and _is_inside(folder, services) else None,
        split=task.facts.split if task else None,
        inputs=tuple(str(spec) for spec in call.workload.inputs),
        params=call.params,
        source_sha256=call.kernel.sha256,
        config=_config(services, call),
    )
    await anyio.to_thread.run_sync(services.store.ensure_run, row)
    sink = RunArtifacts(services.store, run_id)
    await sink.put(SOURCE_ARTIFACT, "kernel-source", call.kernel.text)
    if call.workload.reference is not None:
        await sink.put(REFERENCE_ARTIFACT, "reference-source", call.workload.reference.text)
    context = CallContext(runtime=services.runtime, artifacts=sink, progress=progress, run_id=run_id)
    return context, sink


def _config(services: Services, call: KernelCall) -> Mapping[str, Any]:
    task = call.workload.task
    return {
        "import_roots": list(call.kernel.import_roots),
        "file": call.kernel.file,
        "task_sha256": task.sha256 if task else None,
        "task_folder": str(task.folder) if task and not _is_inside(task.folder, services) else None,
        "reference_sha256": call.workload.reference.sha256 if call.workload.reference else None,
        "author": services.settings.author,
        "paradigm": services.settings.paradigm,
    }


def _is_inside(folder: Path, services: Services) -> bool:
    return any(folder.is_relative_to(root) for root in services.benchmark_roots)


async def keep(services: Services, result: ResultT, sink: RunArtifacts, row: StageRow) -> ResultT:
    """Complete the common fields, record the stage, and return the result."""
    known = {artifact.uri: artifact for artifact in (*result.artifacts, *sink.kept)}
    whole = result.model_copy(
        update={
            "run_id": row.run_id,
            "findings": errors_first(result.findings),
            "artifacts": tuple(known.values()),
        }
    )
    stage = dataclasses.replace(row, result=whole.model_dump(mode="json"))
    await anyio.to_thread.run_sync(services.store.add_stage, stage)
    if row.stage in {"test", "profile"}:
        await anyio.to_thread.run_sync(write_results_csv, services.store, services.home.results_csv)
    return whole


def _earlier_profile(services: Services, run_id: str, target: str) -> SideProfile:
    """Return the newest profile of another run on this target, as one side of a comparison."""
    found = services.store.last_result(run_id, "profile", target)
    if found is None or found.get("time_us") is None:
        raise MisuseError(
            f"There is no profile of run {run_id!r} on {target}.",
            allowed="reference, none, or the id of a run that was profiled on the same target.",
            action="Profile that run first, or see list_runs.",
        )
    fields = {name: found[name] for name in SideProfile.model_fields if found.get(name) is not None}
    try:
        return SideProfile.model_validate(fields)
    except ValidationError:
        raise MisuseError(
            f"The profile of run {run_id!r} was written by another version and cannot be read.",
            allowed="a run profiled by this version.",
            action="Profile that run again.",
        ) from None
