"""What is compiled against what was tested: exported modules, re-read by a process that never ran the candidate.

Three questions. Does the module say what the candidate's own trace claimed (grid, windows)? Does it do the work
inside kernels? And is the body at full size the one that was tested, up to dimensions? The first two convict; the
third leaves the verdict open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from maxkernel_tools.checking.explaining import calls_of
from maxkernel_tools.checking.running import Session
from maxkernel_tools.checking.sourcelines import finding
from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import ReferenceRequest, TraceReply, TraceRequest

_LARGE_CONSTANT_BYTES: Final = 64 << 10
_TRUSTED: Final = KernelSource(text="")

Module = Mapping[str, Any]


async def of_exports(
    call: KernelCall, full: TraceReply, session: Session, context: CallContext, target: Target
) -> list[Finding]:
    """Return findings from the exported modules of the full size and of every tested shape.

    Raises:
        MachineryError: the reading process ended without an answer.
    """
    claims: list[Mapping[str, Any]] = []
    exported: list[bytes] = []
    if target in full.exported:
        claims.append(full.facts)
        exported.append(full.exported[target])
    for answer in session.answers:
        if answer.judged is not None and answer.judged.reply.exported is not None:
            claims.append(answer.judged.reply.facts)
            exported.append(answer.judged.reply.exported)
    if not exported:
        return []
    modules = await _reread(exported, context)
    found: list[Finding] = []
    for module, claim in zip(modules, claims, strict=True):
        found += _contradictions(call, module, claim)
    whole = modules[0] if target in full.exported else None
    tested = modules[1:] if whole is not None else modules
    if whole is not None and not found:
        found += _work(call, whole)
        found += _untested(call, whole, tested)
    return _once(found)


async def of_repeats(
    call: KernelCall, request: TraceRequest, full: TraceReply, context: CallContext, target: Target
) -> list[Finding]:
    """Return a finding where the kernel, traced again in another process, is another program.

    What is tested, compiled and timed are traces of their own; a kernel that rolls dice while traced, or reads the
    clock, could be one program to the grader and another to whoever runs it.
    """
    again = await context.runtime.trace(request)
    first, second = full.exported.get(target), again.exported.get(target)
    if first is None or second is None or first == second:
        return []
    one, other = await _reread([first, second], context)
    if _program(one) == _program(other):
        return []
    text = "Traced twice on the same shapes, the kernel gives two different programs."
    hint = "Let workload depend on its arguments only, not on time, chance or the process."
    return [finding(call.kernel, FindingCode.INTEGRITY_UNSTABLE_OUTPUT, text, hint=hint, stage=Stage.GUARD)]


def _program(module: Module) -> list[tuple[str, str]]:
    """All that is known of a module but names, as text."""
    kernels = [{name: value for name, value in kernel.items() if name != "name"} for kernel in _kernels(module)]
    return [(str(kernel), str(module.get("outside"))) for kernel in kernels]


async def _reread(exported: Sequence[bytes], context: CallContext) -> Sequence[Module]:
    """Read modules in a process that never ran the candidate."""
    overrides = {index: np.frombuffer(data, np.uint8) for index, data in enumerate(exported)}
    request = ReferenceRequest(source=_TRUSTED, seed=0, overrides=overrides, examine=True)
    reply = await context.runtime.reference(request)
    if len(reply.examined) != len(exported):
        raise MachineryError(f"Exported modules could not be re-read: the process ended ({reply.child.ending}).")
    return reply.examined


def _contradictions(call: KernelCall, module: Module, facts: Mapping[str, Any]) -> list[Finding]:
    """Where the bytes and the trace the child reported disagree, somebody was deceived."""
    if "unreadable" in module:
        text = f"An exported module could not be re-read: {module['unreadable']}"
        return [_doubt(call, text)]
    kernels, calls = _kernels(module), calls_of(facts)
    # a call repeated by jax is lowered once per place, so only more kinds of kernels than claimed are a contradiction
    claimed = {(tuple(int(size or 0) for size in item.get("grid") or ()), _blocks(item)) for item in calls}
    for kernel in kernels:
        grid = tuple(int(size) for size in kernel["grid"])
        if not any(_same_grid(grid, known) for known, _ in claimed):
            text = f"The exported kernel {kernel['name']} runs over the grid {grid}, the trace says {_grids(calls)}."
            return [_mismatch(call, text)]
        cut = [window for window in kernel["windows"] if window["block"] and window["block"] != window["array"]]
        windows = tuple(tuple(window["block"]) for window in cut)
        if not any(_same_grid(grid, known) and _covers(blocks, windows) for known, blocks in claimed):
            text = f"The exported kernel {kernel['name']} has the windows {windows}, the trace says otherwise."
            return [_doubt(call, text)]
    if calls and not kernels and not any(item.get("interpret") for item in calls):
        return [_mismatch(call, "The trace holds kernels, the exported module holds none.")]
    return []


def _same_grid(exported: tuple[int, ...], traced: tuple[int, ...]) -> bool:
    """A grid without axes is exported as one step; a dynamic extent is negative in one and zero in the other."""
    if not traced:
        return all(size == 1 for size in exported)
    if len(exported) != len(traced):
        return False
    return all(a == b or a < 0 or b == 0 for a, b in zip(exported, traced, strict=True))


def _blocks(item: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    operands: list[Mapping[str, Any]] = item.get("operands") or []
    return tuple(tuple(int(size) for size in operand["block"]) for operand in operands if operand.get("block"))


def _covers(traced: Sequence[tuple[int, ...]], exported: Sequence[tuple[int, ...]]) -> bool:
    """Whether every exported window is among the traced blocks (those that cut their array)."""
    sizes = {_squeezed(block) for block in traced}
    return all(_squeezed(block) in sizes for block in exported) or not traced


def _squeezed(block: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in block if size != 1)


def _work(call: KernelCall, module: Module) -> list[Finding]:
    """Integrity from the bytes alone."""
    found: list[Finding] = []
    task = call.workload.task
    outside: Mapping[str, Any] = module["outside"]
    custom: Mapping[str, int] = outside["custom_calls"]
    hosts = [name for name in custom if "callback" in name.lower()]
    if hosts:
        text = f"The exported module calls the host: {', '.join(hosts)}."
        found.append(finding(call.kernel, FindingCode.INTEGRITY_HOST_CALLBACK, text, stage=Stage.GUARD))
    if int(outside["constant_bytes"]) > _LARGE_CONSTANT_BYTES:
        text = f"The exported module carries {outside['constant_bytes']} bytes of constants."
        found.append(finding(call.kernel, FindingCode.INTEGRITY_LARGE_CONSTANT, text, stage=Stage.GUARD))
    if task is None or not task.facts.requires_pallas:
        return found
    kernels = _kernels(module)
    if not kernels:
        text = "The exported module holds no Pallas kernel: the task asks for one."
        found.append(finding(call.kernel, FindingCode.INTEGRITY_NO_PALLAS, text, stage=Stage.GUARD))
        return found
    bare = [index for index, touched in enumerate(module["outputs_from_kernel"]) if not touched]
    if bare:
        text = f"In the exported module outputs {bare} do not depend on any kernel."
        found.append(finding(call.kernel, FindingCode.INTEGRITY_DECOY_KERNEL, text, stage=Stage.GUARD))
    inside, dots = sum(int(kernel["matmul_flops"]) for kernel in kernels), int(outside["dot_flops"])
    if dots > inside:
        text = f"Matrix products outside kernels take {dots:.3g} flops, inside {inside:.3g}."
        found.append(finding(call.kernel, FindingCode.INTEGRITY_LITTLE_WORK_INSIDE, text, stage=Stage.GUARD))
    return found


def _untested(call: KernelCall, whole: Module, tested: Sequence[Module]) -> list[Finding]:
    """Whether what runs at full size is what was tested, up to dimensions."""
    groups = [_kernels(module) for module in tested if "unreadable" not in module]
    known = [kernel for group in groups for kernel in group]
    if not known:
        return []
    found: list[Finding] = []
    if all(len(group) != len(_kernels(whole)) for group in groups):
        sizes = sorted({len(group) for group in groups})
        found.append(_doubt(call, f"At full size {len(_kernels(whole))} kernels run, in tested shapes {sizes}."))
    for kernel in _kernels(whole):
        same = [other for other in known if other["sequence"] == kernel["sequence"]]
        alike = [other for other in known if set(other["operations"]) == set(kernel["operations"])]
        if not same and not alike:
            nearest = min(known, key=lambda other: len(set(other["operations"]) ^ set(kernel["operations"])))
            extra = sorted(set(kernel["operations"]) ^ set(nearest["operations"]) - {"(", ")"})
            text = (
                f"At full size {kernel['name']} does other operations than in any tested shape: {', '.join(extra[:4])}."
            )
            found.append(_doubt(call, text))
            continue
        found += _same_amount(call, kernel, same or alike)
    return found


def _same_amount(call: KernelCall, kernel: Module, others: Sequence[Module]) -> list[Finding]:
    """Blocks visited, loops and constants must not shrink or change when the size grows."""
    found: list[Finding] = []
    for index, window in enumerate(kernel["windows"]):
        if window["visited"] is None or window["visited"] >= window["blocks"]:
            continue
        complete = [
            other["windows"][index]["visited"] == other["windows"][index]["blocks"]
            for other in others
            if index < len(other["windows"]) and other["windows"][index]["visited"] is not None
        ]
        if complete and all(complete):
            text = (
                f"At full size {kernel['name']} visits {window['visited']} of {window['blocks']} blocks of operand "
                f"{index}; in every tested shape it visits all."
            )
            found.append(_doubt(call, text))
    exact = [other for other in others if other["sequence"] == kernel["sequence"]]
    for position, trips in enumerate(kernel["loops"]):
        tried = [other["loops"][position] for other in exact if position < len(other["loops"])]
        known = [count for count in tried if count is not None]
        if trips is not None and known and trips < min(known):
            text = f"At full size a loop of {kernel['name']} runs {trips} times, in tested shapes {min(known)} or more."
            found.append(_doubt(call, text))
    for position, value in enumerate(kernel["constants"]):
        values = {other["constants"][position] for other in exact if position < len(other["constants"])}
        if len(values) == 1 and len(exact) > 1 and value not in values and np.isfinite(value):
            text = f"At full size {kernel['name']} uses the constant {value:g}, in every tested shape {values.pop():g}."
            found.append(_doubt(call, text))
    return found


def _kernels(module: Module) -> list[Module]:
    return list(module.get("kernels") or [])


def _grids(calls: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(str(tuple(item.get("grid") or ())) for item in calls) or "none"


def _mismatch(call: KernelCall, text: str) -> Finding:
    return finding(call.kernel, FindingCode.INTEGRITY_TRACE_MISMATCH, text, stage=Stage.GUARD)


def _doubt(call: KernelCall, text: str) -> Finding:
    code, severity = FindingCode.INTEGRITY_TRACE_MISMATCH, Severity.WARNING
    hint = "Let one body serve every size, or give a shape of the other body to test."
    return finding(call.kernel, code, text, hint=hint, severity=severity, stage=Stage.TEST)


def _once(found: Sequence[Finding]) -> list[Finding]:
    kept: dict[tuple[str, str], Finding] = {}
    for item in found:
        kept.setdefault((item.code.value, item.message), item)
    return list(kept.values())
