"""The tool: prune by facts, compile few, learn, test the winner, report every configuration."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio.to_thread

from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import ParamValue, params_key
from maxkernel_tools.records.results import Artifact, Speedup, errors_first
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.tuning import ConfigReport, TuneResult
from maxkernel_tools.runtime import TraceRequest
from maxkernel_tools.tuning.cache import TuningCache
from maxkernel_tools.tuning.patching import with_params
from maxkernel_tools.tuning.report import as_csv
from maxkernel_tools.tuning.search import Search
from maxkernel_tools.tuning.space import Config, spell_out

Check = Callable[[KernelCall], Awaitable[str]]
"""Judges one configuration's numerics; returns the verdict, ``correct`` where it stands."""

FINALISTS = 4
"""Configurations whose numerics are checked before giving up on finding a correct one."""


async def autotune_kernel(
    call: KernelCall,
    target: Target,
    space: Mapping[str, Sequence[ParamValue]] | None,
    budget: int | None,
    context: CallContext,
    *,
    check: Check | None = None,
    cache: TuningCache | None = None,
) -> TuneResult:
    """Find the fastest configuration of a kernel by the schedule model.

    Args:
        call: the kernel on its workload; parameters in ``call.params`` are pinned.
        target: the chip.
        space: values per parameter; None takes the file's ``SPACE``.
        budget: configurations to compile at most; None is a quarter of the space, at least eight.
        context: runtime, artifacts, progress.
        check: judges the winner's numerics, then the next best, until one is correct.
        cache: keeps timed configurations, so that an interrupted call goes on where it was.

    Raises:
        MisuseError: there is no space, or it does not fit the kernel.
    """
    started = time.monotonic()
    reply = await context.runtime.trace(
        TraceRequest(kernel=call.kernel, inputs=call.workload.inputs, params=call.params)
    )
    chosen = space or reply.declared_space
    if not chosen and reply.errors:
        raise MisuseError(
            "The kernel cannot be traced with its own PARAMS, so its SPACE is unknown.",
            allowed="a kernel that traces, or a space argument.",
            action="Run compile_kernel first.",
        )
    configs = spell_out(chosen, reply.declared_params or _first_values(chosen), call.params)
    limit = max(1, budget) if budget else max(8, -(-len(configs) // 4))
    search = Search(call, target, configs, context, cache)
    await search.look(limit)
    await search.compile_some(limit)
    await search.remember()
    await _test(search, check)
    findings = errors_first(_findings(search, limit))
    artifacts = await _artifacts(search, context)
    return _result(search, findings, artifacts, int((time.monotonic() - started) * 1000))


def _first_values(space: Mapping[str, Sequence[ParamValue]]) -> Config:
    return {name: values[0] for name, values in space.items() if values}


async def _test(search: Search, check: Check | None) -> None:
    if check is None:
        return
    search.needs_verdict = True
    for at in search.fastest()[:FINALISTS]:
        await search.context.progress(0, None, f"testing {params_key(search.configs[at])}")
        verdict = await check(search.call_with(at))
        search.note_verdict(at, verdict)
        if verdict == "correct":
            return


def _findings(search: Search, limit: int) -> list[Finding]:
    found: list[Finding] = []
    if search.best() is None:
        found.append(
            Finding(
                code=FindingCode.COMPILE_ERROR,
                severity=Severity.ERROR,
                stage=Stage.TUNE,
                message=f"None of {len(search.configs)} configurations stands; see the table for why each fell.",
                hint="Widen the space, or run compile_kernel on one configuration for its findings.",
                target=search.target,
            )
        )
    elif not search.needs_verdict:
        found.append(
            Finding(
                code=FindingCode.PROFILE_ADVICE,
                severity=Severity.NOTE,
                stage=Stage.TUNE,
                message="The numerics of no configuration were tested: there is nothing to compare with.",
                hint="Pass a task or a reference; a tiling that leaves work out is fast.",
                target=search.target,
            )
        )
    left = sum(report.state == "not-reached" for report in search.reports())
    if left:
        found.append(
            Finding(
                code=FindingCode.PROFILE_ADVICE,
                severity=Severity.NOTE,
                stage=Stage.TUNE,
                message=f"{left} configurations were not compiled: the budget of {limit} was spent on likelier ones.",
                hint="Raise the budget; what was timed is kept, and the same call again answers from it at once.",
                target=search.target,
            )
        )
    return found


async def _artifacts(search: Search, context: CallContext) -> tuple[Artifact, ...]:
    kept = [await context.artifacts.put("configurations.csv", "table", as_csv(search.table()))]
    best = search.best()
    if best is not None:
        patched = await anyio.to_thread.run_sync(with_params, search.call.kernel.text, search.configs[best])
        kept.append(await context.artifacts.put("kernel-tuned.py", "kernel-source", patched))
    return tuple(kept)


def _result(search: Search, findings: tuple[Finding, ...], artifacts: tuple[Artifact, ...], took_ms: int) -> TuneResult:
    best, default = search.best(), search.report(0)
    winner = search.report(best) if best is not None else None
    ratio: Speedup | None = None
    if winner and winner.time_us and winner.interval_us and default.time_us and default.interval_us:
        low, high = default.interval_us[0] / winner.interval_us[1], default.interval_us[1] / winner.interval_us[0]
        ratio = Speedup(
            value=default.time_us / winner.time_us,
            low=low,
            high=high,
            source="schedule-model",
            significant=low > 1,
            against="default",
        )
    return TuneResult(
        ok=winner is not None,
        run_id=search.context.run_id,
        summary=_summary(search, winner, ratio),
        findings=findings,
        artifacts=artifacts,
        took_ms=took_ms,
        target=search.target,
        best=winner.params if winner else None,
        best_us=winner.time_us if winner else None,
        interval_us=winner.interval_us if winner else None,
        time_source="schedule-model" if winner else "none",
        default=default.params,
        default_us=default.time_us,
        speedup=ratio,
        compiles=search.compiles,
        considered=len(search.configs),
        configurations=tuple(search.table()),
    )


def _summary(search: Search, winner: ConfigReport | None, ratio: Speedup | None) -> str:
    if winner is None or winner.time_us is None:
        return f"No configuration of {len(search.configs)} stands."
    spelled = ", ".join(f"{name}={value}" for name, value in winner.params.items())
    text = (
        f"Best of {len(search.configs)} configurations with {search.compiles} compiles: {spelled}, "
        f"estimated {winner.time_us:.1f} µs on {search.target.value} (schedule model, not measured)"
    )
    if winner.tested:
        text += f", numerics {winner.tested}"
    if ratio is not None:
        text += f"; {ratio.value:.2f} times the default's speed"
        text += "." if ratio.significant else ", within the model's interval."
        return text
    return text + "."
