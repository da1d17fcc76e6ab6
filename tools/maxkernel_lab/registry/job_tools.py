"""Handlers of the job tools: start an optimisation, look at a job, stop it, take it up again."""

from __future__ import annotations

from typing import Any

from maxkernel_lab.registry.arguments import MAX_SOURCE, GetJobArguments, JobArguments, OptimizeArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.paths import read_text_file
from maxkernel_lab.registry.workloads import one_target, workload
from maxkernel_tools.context import Progress
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.jobs import JobResult
from maxkernel_tools.records.kernels import KernelSource


def optimization_config(services: Services, arguments: OptimizeArguments) -> dict[str, Any]:
    """Return the config of an optimisation, all of it checked, so that a job does not start only to fail.

    Raises:
        MisuseError: task, reference, inputs or start kernel cannot be read, or paradigm or target is unknown.
    """
    settings = services.settings
    paradigm = arguments.paradigm or settings.paradigm
    wanted = workload(services, task=arguments.task, inputs=arguments.inputs, reference_path=arguments.reference_path)
    if wanted.reference is None:
        raise MisuseError(
            "An optimisation needs something to compare with.",
            allowed="task, or reference_path with inputs.",
            action="Pass one.",
        )
    config: dict[str, Any] = {
        "paradigm": paradigm,
        "author": arguments.author or settings.author,
        "target": one_target(services, arguments.target).value,
        "budget": {
            "evaluations": arguments.budget or settings.budget_evaluations,
            "wall_s": settings.budget_minutes * 60,
            "tokens": arguments.budget_tokens or settings.budget_tokens,
            "usd": arguments.budget_usd or settings.budget_usd,
        },
        "home": str(services.home.root),
    }
    if paradigm == "search":
        config["policy"] = arguments.policy or settings.search_policy
        config["seed"] = arguments.seed or settings.search_seed
    elif arguments.policy or arguments.seed:
        raise MisuseError(
            f"policy and seed are for a graph search, not for {paradigm}.",
            allowed="policy and seed with paradigm search.",
            action="Add paradigm search, or leave them out.",
        )
    if wanted.task is not None:
        in_catalog = wanted.task.folder.parent in services.benchmark_roots
        config["task"] = wanted.task.facts.id if in_catalog else str(wanted.task.folder)
    else:
        _, path = read_text_file(arguments.reference_path, settings, what="reference file", max_bytes=MAX_SOURCE)
        config["reference_path"] = str(path)
        config["inputs"] = [str(spec) for spec in wanted.inputs]
    # Files may change between two calls of the same command: then it is another job.
    hashes = {"reference": wanted.reference.sha256}
    if arguments.start_from:
        text, path = read_text_file(arguments.start_from, settings, what="kernel to improve", max_bytes=MAX_SOURCE)
        config["start_from"] = str(path)
        hashes["start_from"] = KernelSource(text=text).sha256
    return {**config, "sha256": hashes}


async def start_optimization(services: Services, arguments: OptimizeArguments, progress: Progress) -> JobResult:
    """Handle ``start_optimization``."""
    config = optimization_config(services, arguments)
    if "hitl" in {config["paradigm"], services.settings.paradigm}:
        raise MisuseError(
            "Human in the loop needs the person: it is not something to be started here and left alone.",
            allowed="auto or search; or step by step: propose_plan, then compile_kernel and test_kernel with plan_id.",
            action="Say paradigm auto or search, use propose_plan, or run `maxkernel hitl TASK` in a terminal.",
        )
    await progress(0, None, "starting the orchestrator")
    return await services.jobs.start_optimization(config)


async def get_job(services: Services, arguments: GetJobArguments, progress: Progress) -> JobResult:
    """Handle ``get_job``."""
    return await services.jobs.get(arguments.job_id, arguments.wait_s, progress)


async def cancel_job(services: Services, arguments: JobArguments, progress: Progress) -> JobResult:  # noqa: ARG001
    """Handle ``cancel_job``."""
    return await services.jobs.cancel(arguments.job_id)


async def resume_job(services: Services, arguments: JobArguments, progress: Progress) -> JobResult:  # noqa: ARG001
    """Handle ``resume_job``."""
    return await services.jobs.resume(arguments.job_id)
