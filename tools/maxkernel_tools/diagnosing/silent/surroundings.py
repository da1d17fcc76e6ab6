"""Notes on what surrounds a kernel: its name in traces, what the scheduler is told about its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maxkernel_tools.diagnosing.evidence import Draft
from maxkernel_tools.records.findings import FindingCode, Severity
from maxkernel_tools.records.kernels import KernelSource


def surroundings(kernel: KernelSource, calls: Sequence[Mapping[str, Any]]) -> list[Draft]:
    """Return one note per kind, for the first call it applies to."""
    del kernel
    notes: list[Draft] = []
    unpriced = [call for call in calls if not call.get("cost_estimate")]
    if unpriced:
        also = f" ({len(unpriced)} calls)" if len(unpriced) > 1 else ""
        notes.append(
            Draft(
                FindingCode.MISSING_COST_ESTIMATE,
                f"The pallas_call gives no cost_estimate{also}; XLA schedules around it as if it cost nothing.",
                "Pass cost_estimate=pl.CostEstimate(flops=..., bytes_accessed=..., transcendentals=...).",
                line=unpriced[0].get("line"),
                severity=Severity.NOTE,
            )
        )
    names = [str(call.get("name")) for call in calls]
    unstable = [
        call
        for call in calls
        if not call.get("given_name")
        and ("<lambda>" in str(call.get("name")) or names.count(str(call.get("name"))) > 1)
    ]
    if unstable:
        notes.append(
            Draft(
                FindingCode.UNSTABLE_KERNEL_NAME,
                f"The kernel is called {unstable[0].get('name')!r} in profiles, which does not tell it from others.",
                "Give the pallas_call a name of its own: name='...'.",
                line=unstable[0].get("line"),
                severity=Severity.NOTE,
            )
        )
    return notes
