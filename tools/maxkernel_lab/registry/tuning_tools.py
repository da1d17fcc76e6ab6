"""Handler of ``autotune_kernel``: the search over a kernel's space, its winner judged by the grader of every kernel.

Each configuration the grader judges is a candidate of its own, with its own run; the search belongs to the run of the
kernel it was asked for.
"""

from __future__ import annotations

from maxkernel_lab.registry.arguments import AutotuneArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.kernel_tools import judge, keep, open_run
from maxkernel_lab.registry.workloads import kernel_call, one_target
from maxkernel_lab.store import StageRow
from maxkernel_tools.context import KernelCall, Progress
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.records.tuning import TuneResult


async def autotune_kernel(services: Services, arguments: AutotuneArguments, progress: Progress) -> ToolResult:
    """Handle ``autotune_kernel``."""
    target = one_target(services, arguments.target)
    call = kernel_call(services, arguments, reference=arguments.reference, reference_path=arguments.reference_path)
    from maxkernel_tools.tuning import TuningCache  # noqa: PLC0415 - kept out of the server's start
    from maxkernel_tools.tuning import autotune_kernel as tool  # noqa: PLC0415

    async def check(candidate: KernelCall) -> str:
        result = await judge(services, candidate, "quick", target, progress)
        return result.verdict

    context, sink = await open_run(services, call, progress)
    result: TuneResult = await tool(
        call,
        target,
        {name: list(values) for name, values in arguments.space.items()} or None,
        arguments.budget or None,
        context,
        check=check if call.workload.reference is not None else None,
        # Modules the kernel imports are no part of the cache's key.
        cache=None if call.kernel.import_roots else TuningCache(services.home.tuned),
    )
    row = StageRow(
        run_id=context.run_id,
        stage="tune",
        ok=result.ok,
        summary=result.summary,
        result={},
        target=target.value,
        time_us=result.best_us,
        time_source=result.time_source if result.best_us is not None else None,
        speedup=result.speedup.value if result.speedup else None,
    )
    return await keep(services, result, sink, row)
