"""Findings for kernels that compile cleanly and are wrong, or lie in wait: seen in the jaxpr, without running.

The worker observes; here each observation gets its code, its line, its weight and its cure. Observations of the
simulated body are errors: they do happen. What rests on following values only is a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxkernel_tools.diagnosing.evidence import Draft, finish
from maxkernel_tools.diagnosing.silent.grid import GRID_RULES
from maxkernel_tools.diagnosing.silent.memory import MEMORY_RULES, aliases
from maxkernel_tools.diagnosing.silent.numerics import NUMERIC_RULES
from maxkernel_tools.diagnosing.silent.scene import Observation, Scene
from maxkernel_tools.diagnosing.silent.surroundings import surroundings
from maxkernel_tools.records.findings import Finding, Stage
from maxkernel_tools.records.kernels import KernelSource

_RULES = {**GRID_RULES, **MEMORY_RULES, **NUMERIC_RULES}


def silent_findings(kernel: KernelSource, facts: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return what the facts of a kernel give away, in the order it was observed, notes last."""
    calls: list[Mapping[str, Any]] = list(facts.get("pallas_calls", ()))
    drafts: list[Draft] = []
    for call in calls:
        scene = Scene(kernel, call)
        seen: list[Observation] = _without_echoes(list(call.get("observations", ())))
        drafts.extend(aliases(scene, seen))
        for observation in seen:
            rule = _RULES.get(str(observation.get("kind")))
            draft = rule(scene, observation) if rule is not None else None
            if draft is not None:
                drafts.append(draft)
    drafts.extend(surroundings(kernel, calls))
    findings: list[Finding] = []
    for draft in drafts:
        finding = finish(draft, kernel, Stage.TRACE, None)
        if finding not in findings:
            findings.append(finding)
    return tuple(findings)


def _without_echoes(seen: list[Observation]) -> list[Observation]:
    """Drop the copy that is never awaited where a read of what it brings is reported already."""
    reported = {entry.get("started_line") for entry in seen if entry.get("kind") != "never-awaited"}
    return [entry for entry in seen if entry.get("kind") != "never-awaited" or entry.get("line") not in reported]
