"""What several toolchains do not agree on is named, and nothing else."""

from __future__ import annotations

from maxkernel_tools.compiling.differences import differences
from maxkernel_tools.records.compiles import TargetReport
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.targets import Target


def report(name: str, *, ok: bool = True, target: Target = Target.V6E, **figures) -> TargetReport:
    return TargetReport(target=target, ok=ok, toolchain=f"jax {name}", toolchain_name=name, **figures)


def finding(code: FindingCode, severity: Severity) -> Finding:
    return Finding(code=code, severity=severity, stage=Stage.COMPILE, message="", line=7)


def test_agreement_is_silent():
    same = {"vmem_bytes": 1000, "estimated_us": 10.0}
    assert differences([report("a", **same), report("b", vmem_bytes=1005, estimated_us=10.1)]) == ()
    assert differences([report("a", **same), report("a", target=Target.V5E, vmem_bytes=1)]) == ()


def test_who_compiles_comes_first_with_the_reason():
    error = finding(FindingCode.DYNAMIC_SLICE_ALIGNMENT, Severity.ERROR)
    first, *others = differences(
        [report("a", vmem_bytes=1 << 20), report("b", ok=False, findings=(error,)), report("c", vmem_bytes=2 << 20)]
    )
    assert first.startswith("v6e: compiles with a (jax a), c (jax c), not with b (jax b): dynamic-slice-alignment at")
    assert "line 7" in first
    assert others == ["v6e: VMEM 1 MiB with a, 2 MiB with c."]


def test_warnings_of_one_toolchain_are_named_notes_are_not():
    warning = finding(FindingCode.DEFAULT_MATMUL_PRECISION, Severity.WARNING)
    note = finding(FindingCode.MISSING_COST_ESTIMATE, Severity.NOTE)
    assert differences([report("a", findings=(warning, note)), report("b")]) == (
        "v6e: default-matmul-precision only with a.",
    )
