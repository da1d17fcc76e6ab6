"""Adds the schedule model's time to a report, where the model can read the schedule. It is an estimate and says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxkernel_tools.profiling.sides import estimate_side
from maxkernel_tools.records.compiles import TargetReport
from maxkernel_tools.records.results import errors_first
from maxkernel_tools.runtime import CompileReply


async def estimated(report: TargetReport, compiled: CompileReply, facts: Mapping[str, Any]) -> TargetReport:
    """Return ``report`` with ``estimated_us`` and its source, or with the note why there is none."""
    if compiled.dump_dir is None or not report.ok:
        return report
    side = await estimate_side(compiled, facts, report.target)
    if side.estimate is None:
        return report.model_copy(update={"findings": errors_first([*report.findings, *side.findings])})
    profile = side.estimate.profile
    return report.model_copy(update={"estimated_us": profile.time_us, "estimate_source": profile.time_source})
