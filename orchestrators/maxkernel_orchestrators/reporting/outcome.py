"""The result of an optimisation. The only place that may say a kernel is faster, and only when a profile does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_orchestrators.stepping.ending import Ending
from maxkernel_orchestrators.stepping.step import MAX_REPAIRS
from maxkernel_orchestrators.stepping.stopping import REASON_WORDS
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.jobs import CandidateCost, CostLedger
from maxkernel_tools.records.plans import Decision
from maxkernel_tools.records.results import BoundBy, Speedup, TimeSource, ToolResult

TIME_WORDS: dict[str, str] = {
    "device": "measured on a TPU",
    "cpu-stand-in": "measured on the CPU, which stands in for a TPU",
    "schedule-model": "estimated from the compiler's schedule",
    "compiler-estimate": "estimated by the compiler",
    "none": "no time",
}


class SideTime(Record):
    """One side of the comparison."""

    name: str
    time_us: float | None = None
    time_source: TimeSource = "none"
    interval_us: tuple[float, float] | None = None
    bound_by: BoundBy = "unknown"
    roofline_fraction: float | None = None
    mxu: float | None = None


class CandidateLine(Record):
    """One candidate, as the result's table shows it."""

    name: str
    parent: str | None
    move: str
    state: str
    params: dict[str, Any] = Field(default_factory=dict)
    time_us: float | None = None
    time_source: TimeSource = "none"
    bound_by: BoundBy = "unknown"
    run_id: str | None = None
    repairs: int = 0
    trials: int = 0
    problem: str = ""
    cost: CandidateCost = CandidateCost()


class OptimizationResult(ToolResult):
    """Answer of an optimisation.

    Attributes:
        kernel_path: the exported kernel; None unless a verified one exists.
        ours, reference: both sides by one clock.
        speedup: as the profile gave it, with its interval.
        claimed_speedup: what may be claimed: the speed-up where it is significant and above one, else 1.0 (the
            baseline is kept).
        verdict: of the exported kernel, on its very parameters; ``shapes`` and ``seeds`` are what it rests on.
        compiles_for: generations it was compiled for.
        stopped: the rule that ended the run.
        decisions: what a person approved and rejected, each with the plan's hash.
    """

    task: str = ""
    target: str = ""
    paradigm: str = "auto"
    author: str = "builtin"
    kernel_path: str | None = None
    report_path: str | None = None
    record_path: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    ours: SideTime | None = None
    reference: SideTime | None = None
    speedup: Speedup | None = None
    claimed_speedup: float = 1.0
    faster: bool = False
    verdict: str = "none"
    verdict_level: str = ""
    shapes: tuple[str, ...] = ()
    seeds: int = 0
    races_checked: bool = False
    uninitialized_checked: bool = False
    compiles_for: tuple[str, ...] = ()
    stopped: str = ""
    candidates: tuple[CandidateLine, ...] = ()
    decisions: tuple[Decision, ...] = ()
    cost: CostLedger = CostLedger()


def outcome_of(
    ending: Ending,
    *,
    job_id: str,
    task: str,
    target: str,
    author: str,
    paradigm: str,
    cost: CostLedger,
    costs: Mapping[str, CandidateCost],
) -> OptimizationResult:
    """Turn a run's end into its result. Nothing unverified gets a path, nothing insignificant a claim."""
    common = OptimizationResult(
        ok=False,
        summary=_nothing(ending),
        job_id=job_id,
        task=task,
        target=target,
        author=author,
        paradigm=paradigm,
        stopped=ending.reason,
        candidates=tuple(_line(candidate, costs) for candidate in ending.candidates),
        decisions=ending.decisions,
        cost=_with_endless(cost, ending),
        took_ms=int(cost.wall_s * 1000),
    )
    best, final = ending.best, ending.final_test
    if best is None or final is None or best.profile is None:
        return common.model_copy(update={"findings": _problems(ending)})
    profile = best.profile
    speedup = profile.speedup
    faster = speedup is not None and speedup.significant and speedup.value > 1.0
    portable = ending.portable
    compiled = [target, *(str(report.target) for report in (portable.targets if portable else ()) if report.ok)]
    told: dict[str, object] = {
        "ok": True,
        "run_id": best.run_id,
        "summary": _summary(best, faster),
        "findings": tuple(profile.findings[:8]),
        "artifacts": profile.artifacts,
        "params": dict(best.params),
        "ours": SideTime(
            name=best.name,
            time_us=profile.time_us,
            time_source=profile.time_source,
            interval_us=profile.interval_us,
            bound_by=profile.bound_by,
            roofline_fraction=profile.roofline_fraction,
            mxu=profile.units.mxu,
        ),
        "reference": _reference(best),
        "speedup": speedup,
        "claimed_speedup": round(speedup.value, 3) if faster and speedup else 1.0,
        "faster": faster,
        "verdict": final.verdict,
        "verdict_level": final.level,
        "shapes": tuple(_shape(case.dims, case.inputs) for case in final.cases),
        "seeds": len({case.seed for case in final.cases if case.seed is not None}) or len(final.cases),
        "races_checked": bool(final.sanitizer and final.sanitizer.races_checked),
        "uninitialized_checked": bool(final.sanitizer and final.sanitizer.uninitialized_checked),
        "compiles_for": tuple(compiled),
    }
    return common.model_copy(update=told)


def _summary(best: Candidate, faster: bool) -> str:
    profile = best.profile
    speedup = profile.speedup if profile else None
    if profile is None or profile.time_us is None:
        return "A verified kernel without a time."
    time = f"{profile.time_us:.1f} µs, {TIME_WORDS[profile.time_source]}"
    if speedup is None:
        return f"A verified kernel: {time}. There is nothing to compare it with, so nothing is claimed (1.0x)."
    figures = f"{speedup.value:.2f}x [{speedup.low:.2f}, {speedup.high:.2f}] against {speedup.against}"
    if faster:
        return f"A verified kernel, {figures}: {time}."
    return f"A verified kernel, not claimed faster ({figures}, within the error): the baseline is kept, 1.0x. {time}."


def _nothing(ending: Ending) -> str:
    why = ending.author_says or REASON_WORDS[ending.reason]
    tried = f" {len(ending.candidates)} tried." if ending.candidates else ""
    return f"No verified kernel: {why}.{tried} The baseline is kept (1.0x)."


def _problems(ending: Ending) -> tuple[Finding, ...]:
    found = [finding for candidate in ending.candidates for finding in candidate.findings][:8]
    if found:
        return tuple(found)
    note = Finding(
        code=FindingCode.PROFILE_ADVICE,
        severity=Severity.NOTE,
        stage=Stage.LAB,
        message=_nothing(ending),
        hint="Start from a kernel of your own (--start-from K.py), or choose an author that writes freely.",
    )
    return (note,)


def _reference(best: Candidate) -> SideTime | None:
    side = best.profile.reference if best.profile else None
    if side is None:
        return None
    return SideTime(
        name="reference (XLA)",
        time_us=side.time_us,
        time_source=side.time_source,
        interval_us=side.interval_us,
        bound_by=side.bound_by,
        roofline_fraction=side.roofline_fraction,
        mxu=side.units.mxu,
    )


def _with_endless(cost: CostLedger, ending: Ending) -> CostLedger:
    """Count the candidates whose repairs came to no end beside the author's other faults."""
    endless = sum(one.repairs >= MAX_REPAIRS and not one.verified for one in ending.candidates)
    return cost.model_copy(update={"faults": {**cost.faults, "endless-repair": endless}}) if endless else cost


def _line(candidate: Candidate, costs: Mapping[str, CandidateCost]) -> CandidateLine:
    profile = candidate.profile
    return CandidateLine(
        name=candidate.name,
        parent=candidate.parent,
        move=candidate.plan.move,
        state=candidate.state,
        params=dict(candidate.params),
        time_us=profile.time_us if profile else None,
        time_source=profile.time_source if profile else "none",
        bound_by=profile.bound_by if profile else "unknown",
        run_id=candidate.run_id,
        repairs=candidate.repairs,
        trials=len(candidate.trials),
        problem=candidate.problem[:300],
        cost=costs.get(candidate.name, CandidateCost()),
    )


def _shape(dims: dict[str, int], inputs: tuple[str, ...]) -> str:
    return " ".join(f"{name}={extent}" for name, extent in dims.items()) or ", ".join(inputs)
