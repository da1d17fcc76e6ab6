"""Builds the report per target from the compiler's figures and the jaxpr's facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maxkernel_tools.chips import chip
from maxkernel_tools.compiling.vmem_map import VmemMap
from maxkernel_tools.diagnosing.windows import smem_bytes, window_bytes
from maxkernel_tools.records.compiles import PallasCallReport, TargetReport, WindowReport
from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.results import has_errors
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import CompileReply

Facts = Mapping[str, Any]


def pallas_calls(facts: Facts) -> list[Mapping[str, Any]]:
    """Return the facts of every ``pallas_call``."""
    return list(facts.get("pallas_calls", ()))


def vmem_limit(call: Mapping[str, Any], target: Target) -> int:
    """Bytes of VMEM the compiler lets one ``pallas_call`` use: its own limit, else the generation's default."""
    own = call.get("vmem_limit_bytes")
    return int(own) if own else chip(target).scoped_vmem_bytes


def call_report(call: Mapping[str, Any], measured: VmemMap | None) -> PallasCallReport:
    """Describe one ``pallas_call``; bytes per window are the compiler's where it printed them."""
    sizes = _measured_windows(measured)
    operands: Sequence[Mapping[str, Any]] = list(call.get("operands", ()))
    windows = tuple(_window(operand, sizes) for operand in operands)
    return PallasCallReport(
        name=str(call.get("name", "")),
        grid=tuple(int(extent or 0) for extent in call.get("grid", ())),
        dimension_semantics=tuple(call.get("dimension_semantics") or ()),
        windows=windows,
        vmem_bytes=sum(window.vmem_bytes for window in windows),
        line=call.get("line"),
    )


def _measured_windows(measured: VmemMap | None) -> dict[str, int]:
    if measured is None or len({allocation.op for allocation in measured.allocations}) > 1:
        return {}
    return {a.operand: a.bytes for a in measured.allocations if a.operand is not None}


def _window(operand: Mapping[str, Any], sizes: Mapping[str, int]) -> WindowReport:
    name = str(operand.get("name", ""))
    return WindowReport(
        operand=name,
        array=str(operand.get("array", "")),
        block=tuple(int(extent) for extent in operand.get("block", ())),
        memory_space=str(operand.get("memory_space", "vmem")),
        buffers=int(operand.get("buffers", 1) or 0),
        vmem_bytes=sizes.get(name, window_bytes(operand)),
        fetches=operand.get("fetches"),
        hbm_bytes=operand.get("fetch_bytes"),
    )


def target_report(
    target: Target,
    reply: CompileReply | None,
    facts: Facts,
    measured: VmemMap | None,
    findings: tuple[Finding, ...],
) -> TargetReport:
    """Assemble the report of one target.

    Args:
        target: the generation.
        reply: the compiler's answer, None where it was not asked.
        facts: what tracing found.
        measured: the compiler's VMEM map, where dumps were kept.
        findings: everything found for this target.
    """
    calls = pallas_calls(facts)
    hardware = chip(target)
    windows = max((_call_vmem(call) for call in calls), default=0)
    ok = reply is not None and reply.ok and not has_errors(findings)
    memory: Mapping[str, int] = reply.memory if reply is not None else dict[str, int]()
    cost: Mapping[str, float] = reply.cost if reply is not None else dict[str, float]()
    return TargetReport(
        target=target,
        ok=ok,
        compile_ms=reply.compile_ms if reply is not None else 0,
        cached=reply.cached if reply is not None else False,
        vmem_bytes=(measured.used_bytes() if measured is not None and measured.allocations else windows or None),
        vmem_scratch_bytes=None if measured is None else measured.used_bytes("scratch"),
        vmem_spill_bytes=None if measured is None else measured.used_bytes("spill"),
        vmem_limit_bytes=min((vmem_limit(call, target) for call in calls), default=hardware.scoped_vmem_bytes),
        vmem_physical_bytes=hardware.vmem_bytes,
        smem_bytes=max((sum(smem_bytes(o) for o in call.get("operands", ())) for call in calls), default=0),
        hbm_argument_bytes=memory.get("argument_size_in_bytes"),
        hbm_output_bytes=memory.get("output_size_in_bytes"),
        hbm_temp_bytes=memory.get("temp_size_in_bytes"),
        flops=_flops(facts, cost),
        hbm_bytes=_hbm_bytes(calls, cost),
        pallas_calls=tuple(call_report(call, measured) for call in calls),
        toolchain=_toolchain(reply),
        findings=findings,
    )


def _call_vmem(call: Mapping[str, Any]) -> int:
    operands: Sequence[Mapping[str, Any]] = list(call.get("operands", ()))
    return sum(window_bytes(operand) for operand in operands)


def _flops(facts: Facts, cost: Mapping[str, float]) -> int | None:
    inside, outside = int(facts.get("flops_inside") or 0), int(facts.get("flops_outside") or 0)
    if inside + outside > 0:
        return inside + outside
    given = cost.get("flops")
    return int(given) if given and given > 0 else None


def _hbm_bytes(calls: Sequence[Mapping[str, Any]], cost: Mapping[str, float]) -> int | None:
    """Exact block traffic where every operand's index map could be followed, else the compiler's own count."""
    total = 0
    for call in calls:
        for operand in call.get("operands", ()):
            if operand.get("kind") not in ("in", "out") or operand.get("memory_space") != "vmem":
                continue
            if operand.get("fetch_bytes") is None:
                return _accessed(cost)
            total += int(operand["fetch_bytes"]) * int(call.get("trips", 1) or 1)
    return total or _accessed(cost)


def _accessed(cost: Mapping[str, float]) -> int | None:
    given = cost.get("bytes accessed")
    return int(given) if given and given > 0 else None


def _toolchain(reply: CompileReply | None) -> str:
    if reply is None:
        return ""
    return ", ".join(f"{name} {reply.versions[name]}" for name in ("jax", "libtpu") if name in reply.versions)
