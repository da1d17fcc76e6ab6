"""The tool: profile a candidate and what it is compared with, through one model; answer, artifacts, advice."""

from __future__ import annotations

import hashlib
import time
from typing import Literal

from maxkernel_tools.chips import chip
from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.profiling.advice import advise
from maxkernel_tools.profiling.comparison import speedup
from maxkernel_tools.profiling.model import Estimate
from maxkernel_tools.profiling.physics import below_floor
from maxkernel_tools.profiling.plots import roofline_svg, unit_use_svg, vmem_svg
from maxkernel_tools.profiling.sheet import schedule_sheet
from maxkernel_tools.profiling.sides import Side, build_side
from maxkernel_tools.records.findings import Finding, Severity
from maxkernel_tools.records.profiles import ProfileResult, SideProfile
from maxkernel_tools.records.results import Artifact, Speedup, errors_first
from maxkernel_tools.records.targets import Target

Against = SideProfile | Literal["reference", "none"]

_SCHEDULE_ARTIFACT_BYTES = 8 * 1024 * 1024


async def profile_kernel(
    call: KernelCall, target: Target, against: Against, context: CallContext, *, toolchain: str = "default"
) -> ProfileResult:
    """Estimate the device time of a kernel and of what it is compared with.

    Args:
        call: the candidate on its workload.
        target: the chip.
        against: ``reference`` for the workload's own, ``none``, or a stored profile of another run.
        context: runtime, artifacts, progress.
        toolchain: compiles both sides; ``default`` is the installed one.
    """
    started = time.monotonic()
    compares = against == "reference" and call.workload.reference is not None
    steps = 3.0 if compares else 2.0
    await context.progress(0, steps, "compiling the candidate")
    candidate = await build_side(
        call.kernel, call, call.params, target, context, is_reference=False, toolchain=toolchain
    )
    findings = list(candidate.findings)
    other: SideProfile | None = None
    label = "none"
    if isinstance(against, SideProfile):
        other, label = against, "stored run"
    elif compares and call.workload.reference is not None and candidate.estimate is not None:
        await context.progress(1, steps, "compiling the reference")
        reference = await build_side(
            call.workload.reference, call, {}, target, context, is_reference=True, toolchain=toolchain
        )
        findings += [_of_reference(finding) for finding in reference.findings]
        other = reference.estimate.profile if reference.estimate else None
        label = "reference"
    await context.progress(steps - 1, steps, "writing artifacts")
    took = int((time.monotonic() - started) * 1000)
    if candidate.estimate is None:
        return ProfileResult(
            ok=False,
            run_id=context.run_id,
            target=target,
            summary=f"No profile for {target.value}: {findings[0].message if findings else 'unknown reason'}"[:400],
            findings=errors_first(findings),
            took_ms=took,
        )
    profile = candidate.estimate.profile
    ratio = speedup(profile, other, label) if other else None
    task = call.workload.task
    below = below_floor(task.facts, target, profile.time_us, profile.time_source) if task else None
    if below is not None:
        findings.append(below)
        ratio = ratio.model_copy(update={"significant": False}) if ratio else None
    findings += advise(profile, target)
    artifacts = await _artifacts(candidate, target, context)
    return ProfileResult(
        ok=below is None,
        run_id=context.run_id,
        summary=_summary(profile, ratio, target),
        findings=errors_first(findings),
        artifacts=artifacts,
        took_ms=int((time.monotonic() - started) * 1000),
        target=target,
        speedup=ratio,
        reference=other,
        **{name: getattr(profile, name) for name in _SHARED_FIELDS},
    )


_SHARED_FIELDS = tuple(name for name in ProfileResult.model_fields if name in SideProfile.model_fields)


def _of_reference(finding: Finding) -> Finding:
    return finding.model_copy(
        update={"severity": Severity.WARNING, "message": "Reference: " + finding.message, "file": None, "line": None}
    )


def _summary(profile: SideProfile, ratio: Speedup | None, target: Target) -> str:
    low, high = profile.interval_us
    text = (
        f"Estimated {profile.time_us:.1f} µs on {target.value} "
        f"({low:.1f} to {high:.1f}, schedule model, not measured), "
        f"bound by {profile.bound_by}"
    )
    if profile.roofline_fraction is not None:
        text += f", {profile.roofline_fraction:.0%} of the roofline"
    text += "."
    if ratio is not None:
        word = "significant" if ratio.significant else "not significant: the intervals overlap"
        faster = "the kernel" if ratio.value > 1 else f"the {ratio.against}"
        text += (
            f" Estimated speed-up over the {ratio.against} {ratio.value:.2f} "
            f"({ratio.low:.2f} to {ratio.high:.2f}); the faster side is {faster} ({word})."
        )
    return text


async def _artifacts(side: Side, target: Target, context: CallContext) -> tuple[Artifact, ...]:
    made = side.estimate
    if made is None:
        return ()
    kept: list[Artifact] = []
    if side.hlo_text:
        kept.append(await context.artifacts.put(f"optimized-{target.value}.hlo.txt", "optimized-hlo", side.hlo_text))
    # Another compiler's sheet of the same run lies beside it, under another name.
    compiler = hashlib.sha256(repr(sorted(side.versions.items())).encode()).hexdigest()[:8]
    sheet = schedule_sheet(made, target, side.versions)
    kept.append(await context.artifacts.put(f"schedule-{target.value}-{compiler}.json", "schedule-sheet", sheet))
    hottest = max(made.run.ops.values(), key=lambda op: op.cycles, default=None)
    if hottest is not None and hottest.schedule:
        text = made.program.folder.text(hottest.schedule, "final_bundles")[:_SCHEDULE_ARTIFACT_BYTES]
        kept.append(await context.artifacts.put(f"schedule-{target.value}-{hottest.schedule}.txt", "schedule", text))
    for name, text in _plots(made, target).items():
        kept.append(await context.artifacts.put(name, "plot", text))
    return tuple(kept)


def _plots(made: Estimate, target: Target) -> dict[str, str]:
    """Return the plots of the op that takes longest, by file name."""
    hardware = chip(target)
    plots: dict[str, str] = {}
    roofline = roofline_svg(made.profile, hardware)
    if roofline is not None:
        plots[f"roofline-{target.value}.svg"] = roofline
    hottest = max(made.run.ops.values(), key=lambda op: op.cycles, default=None)
    tally = made.tallies.get(hottest.schedule or "") if hottest else None
    if hottest is not None and tally is not None:
        plots[f"unit-use-{target.value}.svg"] = unit_use_svg(hottest.name, tally)
        held = made.vmem.get(hottest.schedule or "", ())
        limit = made.profile.vmem_limit_bytes or hardware.scoped_vmem_bytes
        if held:
            plots[f"vmem-{target.value}.svg"] = vmem_svg(hottest.name, held, hardware, limit)
    return plots
