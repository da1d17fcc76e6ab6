"""Failures of memory: VMEM, SMEM and HBM exhaustion, and refs accessed in a way their memory does not allow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from maxkernel_tools.chips import chip
from maxkernel_tools.diagnosing.evidence import Draft, Evidence
from maxkernel_tools.diagnosing.windows import largest_temporary, window_bytes
from maxkernel_tools.diagnosing.wording import mib, shorten, size_bytes
from maxkernel_tools.records.findings import FindingCode
from maxkernel_tools.records.targets import Target

_SCOPED = re.compile(r"Scoped allocation with size ([\d.]+)([KMG]?) and limit ([\d.]+)([KMG]?)")
_PROGRAM = re.compile(r"Used ([\d.]+)([KMG]?) of ([\d.]+)([KMG]?) (vmem|smem|hbm)")
_SINGLE = re.compile(
    r"Allocation \(size=(\d+)\) would exceed memory \(size=(\d+)\).*?space=(\w+).*?tag = '([^']*)'", re.DOTALL
)
_HBM = re.compile(r"total memory required for (.+?) \(([\d.]+)([KMGT]?)\) exceeds available HBM \(([\d.]+)([KMGT]?)\)")
_OPERAND_TAG = re.compile(r"(input|output) window allocation for operator (?:input|output) (\d+)")
_PREFETCH_TAG = re.compile(r"prefetched SMEM operand (\d+)")


def vmem_oom(evidence: Evidence) -> Draft | None:
    """The kernel needs more VMEM than its limit or its chip has."""
    used_limit = _used_and_limit(evidence.error.message, "vmem")
    if used_limit is None:
        return None
    used, limit = used_limit
    return vmem_draft(evidence, used, limit)


def vmem_draft(evidence: Evidence, used: int, limit: int) -> Draft:
    """Describe a VMEM exhaustion: where the bytes are and what to change first.

    Args:
        evidence: the failure.
        used: bytes the kernel needs.
        limit: bytes it may use.
    """
    target = evidence.target or Target.V6E
    physical = chip(target).vmem_bytes
    operands = [operand for operand in evidence.operands() if window_bytes(operand) > 0]
    windows = sum(window_bytes(operand) for operand in operands)
    temporary = largest_temporary(evidence.call)
    head = f"The kernel needs {mib(used)} of VMEM; its limit on {target} is {mib(limit)} (the chip has {mib(physical)})"
    rest = used - windows
    if temporary is not None and rest > used // 2:
        return Draft(
            FindingCode.VMEM_OOM,
            f"{head}. Windows and scratch are only {mib(windows)}; about {mib(rest)} are temporaries of the body, "
            f"the largest {temporary['array']} ({mib(temporary['bytes'])}) at this line.",
            "Work on fewer rows at a time: add a grid axis (or lax.fori_loop) over the rows of this value, for "
            "example 128 per step.",
            line=temporary.get("line") or evidence.call_line,
        )
    largest = max(operands, key=window_bytes, default=None)
    line = evidence.operand_line(largest) if largest is not None else evidence.call_line
    shares = ", ".join(_share(operand) for operand in sorted(operands, key=window_bytes, reverse=True)[:4])
    message = f"{head}. Windows: {shares}." if shares else f"{head}."
    return Draft(FindingCode.VMEM_OOM, message, _shrink_hint(used, physical, largest), line=line)


def _share(operand: Mapping[str, Any]) -> str:
    extents: list[int] = list(operand.get("block") or ())
    block = "x".join(map(str, extents)) or str(operand.get("array"))
    buffers = operand.get("buffers", 1)
    times = f" x {buffers} buffers" if buffers != 1 else ""
    return f"{operand.get('name')} ({operand.get('argument')}) {block}{times} = {mib(window_bytes(operand))}"


def _shrink_hint(used: int, physical: int, largest: Mapping[str, Any] | None) -> str:
    # Leave a tenth for what the compiler adds between versions.
    wanted = -(-used * 11 // 10 // (1 << 20)) << 20
    if wanted <= physical // 2:
        return (
            f"Set vmem_limit_bytes={wanted} in pltpu.CompilerParams (the chip has room), or shrink the largest block."
        )
    name = f" of {largest.get('argument')}" if largest is not None else ""
    return (
        f"Shrink the block{name}: tile the contraction or row dimension with another grid axis (512 x 512 blocks are "
        "a good start) and accumulate in scratch."
    )


def smem_oom(evidence: Evidence) -> Draft | None:
    """Scalars do not fit SMEM."""
    used_limit = _used_and_limit(evidence.error.message, "smem")
    if used_limit is None:
        return None
    used, limit = used_limit
    operand = _tagged(evidence)
    line = evidence.operand_line(operand) if operand is not None else evidence.call_line
    which = f" for {operand.get('argument')} {operand.get('array')}" if operand is not None else ""
    return Draft(
        FindingCode.SMEM_OOM,
        f"SMEM holds {mib(limit)} but {mib(used)} are needed{which}.",
        "Keep only what steers the step in SMEM: block the array, split the call, or leave it in HBM "
        "(memory_space=pl.ANY) and copy the part each step needs.",
        line=line,
    )


def _tagged(evidence: Evidence) -> Mapping[str, Any] | None:
    message = evidence.error.message
    tag = _OPERAND_TAG.search(message)
    name = f"{'in' if tag.group(1) == 'input' else 'out'}{tag.group(2)}" if tag else ""
    prefetched = _PREFETCH_TAG.search(message)
    if prefetched:
        name = f"prefetch{prefetched.group(1)}"
    for operand in evidence.operands():
        if operand.get("name") == name:
            return operand
    return None


def hbm_oom(evidence: Evidence) -> Draft | None:
    """Arguments, results and temporaries do not fit HBM."""
    match = _HBM.search(evidence.error.message)
    program = _used_and_limit(evidence.error.message, "hbm") if match is None else None
    if match is None and program is None:
        return None
    if match is not None:
        used, limit = size_bytes(match.group(2), match.group(3)), size_bytes(match.group(4), match.group(5))
        what = match.group(1)
    else:
        used, limit = program or (0, 0)
        what = "the program"
    return Draft(
        FindingCode.HBM_OOM,
        f"{what[:1].upper()}{what[1:]} need {mib(used)} of HBM; {mib(limit)} are available.",
        "Use smaller inputs, a narrower dtype, or alias the output to an input (input_output_aliases); or shard "
        "over chips.",
        line=evidence.call_line,
    )


def _used_and_limit(message: str, space: str) -> tuple[int, int] | None:
    if space == "vmem" and (scoped := _SCOPED.search(message)):
        return size_bytes(scoped.group(1), scoped.group(2)), size_bytes(scoped.group(3), scoped.group(4))
    program = _PROGRAM.search(message)
    if program and program.group(5) == space:
        return size_bytes(program.group(1), program.group(2)), size_bytes(program.group(3), program.group(4))
    single = _SINGLE.search(message)
    if single and single.group(3) == space:
        return int(single.group(1)), int(single.group(2))
    return None


def scalar_store(evidence: Evidence) -> Draft | None:
    """A scalar stored to VMEM."""
    if "Cannot store scalars to VMEM" not in evidence.words.gist:
        return None
    return Draft(
        FindingCode.SCALAR_STORE_TO_VMEM,
        "A scalar is stored to a ref in VMEM, which takes only vectors.",
        "Keep the value a vector (keepdims=True, or jnp.full) and store it with o_ref[...] =, or put the ref in "
        "SMEM with BlockSpec(memory_space=pltpu.SMEM).",
        line=evidence.line,
    )


def smem_vector(evidence: Evidence) -> Draft | None:
    """A vector access to SMEM."""
    match = re.search(r"Can only (load|store) scalars (?:from|to) SMEM", evidence.words.gist)
    if match is None:
        return None
    return Draft(
        FindingCode.SMEM_VECTOR_LOAD,
        f"A whole vector is {'loaded from' if match.group(1) == 'load' else 'stored to'} SMEM, which holds scalars "
        "only.",
        "Index single elements (ref[i]) in SMEM, or put the operand in VMEM (memory_space=pltpu.VMEM) to use it as "
        "a vector.",
        line=evidence.line,
    )


def hbm_access(evidence: Evidence) -> Draft | None:
    """A load or store on a ref that stays in HBM."""
    text = evidence.words.gist
    if "only allowed on VMEM and SMEM references" not in text and not re.search(
        r"(?:load|store)s? .*(?:HBM|ANY memory space)", text, re.IGNORECASE
    ):
        return None
    return Draft(
        FindingCode.LOAD_FROM_HBM,
        f"The ref is in HBM (memory_space ANY or HBM) and cannot be read or written directly: {shorten(text, 120)}.",
        "Give the operand a BlockSpec in VMEM so that blocks are fetched for you, or copy with "
        "pltpu.make_async_copy to a VMEM scratch (or pltpu.sync_copy) and access that.",
        line=evidence.line,
    )


MEMORY_RULES = (vmem_oom, smem_oom, hbm_oom, scalar_store, smem_vector, hbm_access)
