"""Turn what one case showed (an error, observations, a mismatch) into findings with the line a person must edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxkernel_tools.checking.comparing import Comparison
from maxkernel_tools.checking.sourcelines import finding, keyword_line
from maxkernel_tools.diagnosing.failing import diagnose_error
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import CANDIDATE_FILE_NAME, KernelSource
from maxkernel_tools.runtime import CaseReply, Observation, RawError

_LOW_PRECISION = ("bf16", "f16", "f8e4m3fn", "f8e5m2")


@dataclass(frozen=True)
class Judged:
    """One interpreted case next to the comparisons of its outputs (empty where it gave none)."""

    reply: CaseReply
    comparisons: tuple[Comparison, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it ran and every output matched."""
        return self.reply.error is None and bool(self.comparisons) and all(item.passed for item in self.comparisons)


def explain(source: KernelSource, judged: Judged, stage: Stage) -> list[Finding]:
    """Return findings of one case: sanitizer findings first, then what is wrong with its result."""
    reply = judged.reply
    found = [*_races(source, reply, stage), *_empty_grids(source, reply, stage)]
    if reply.error is not None:
        found += _of_error(source, reply, stage)
    elif not judged.passed and not prng_lines(reply.facts):
        found += _of_mismatch(source, judged, stage, known=bool(found))
    return found


def anatomy_of(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the kernels' anatomies among ``facts``."""
    return list(facts.get("anatomy") or [])


def calls_of(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the kernel calls among ``facts``."""
    return list(facts.get("pallas_calls") or [])


def prng_lines(facts: Mapping[str, Any]) -> list[int]:
    """Lines that draw hardware random bits, which interpretation replaces by zeros."""
    return [int(line) for kernel in anatomy_of(facts) for line in kernel.get("prng_lines", [])]


def error_line(error: RawError) -> int | None:
    """Return the kernel's line in an error: where its jaxpr says, else its innermost frame in the file."""
    for frames in (error.source_frames, tuple(reversed(error.frames))):
        for frame in frames:
            if frame.file == CANDIDATE_FILE_NAME:
                return frame.line
    return None


def _races(source: KernelSource, reply: CaseReply, stage: Stage) -> list[Finding]:
    found: list[Finding] = []
    for seen in _kind(reply, "race"):
        kernel = _kernel_with(reply.facts, seen.operand)
        operand = seen.operand or "a buffer"
        if seen.between_cores:
            line = keyword_line(source, kernel.get("line") if kernel else None, "dimension_semantics")
            message = (
                f"Two cores access {operand} without order: an axis declared 'parallel' revisits the same block of it, "
                "so on a chip with two cores (v4, v5p) the result depends on luck."
            )
            hint = "Declare the axis that is reduced over 'arbitrary'."
            found.append(
                finding(source, FindingCode.PARALLEL_REDUCTION_AXIS, message, line=line, hint=hint, stage=stage)
            )
        else:
            line = _race_line(reply, seen)
            message = f"{operand} is accessed while a copy to or from it is under way (lines {_join(seen.lines)})."
            hint = "Wait for the copy before touching its buffers; use a second buffer to keep the overlap."
            found.append(finding(source, FindingCode.DMA_RACE, message, line=line, hint=hint, stage=stage))
    return found


def _race_line(reply: CaseReply, seen: Observation) -> int | None:
    """The access, not the start of the copy it collides with."""
    starts = {line for kernel in anatomy_of(reply.facts) for line, _ in kernel.get("starts", [])}
    accesses = [line for line in seen.lines if line not in starts]
    return (accesses or list(seen.lines) or [None])[0]


def _empty_grids(source: KernelSource, reply: CaseReply, stage: Stage) -> list[Finding]:
    found: list[Finding] = []
    for call in calls_of(reply.facts):
        grid: list[int | None] = call.get("grid") or []
        if 0 in grid:
            message = f"The grid is {tuple(grid)}: axis {grid.index(0)} has no step, so nothing is computed."
            hint = "Count steps with pl.cdiv(extent, block), or shrink the block to the extent."
            line = keyword_line(source, call.get("line"), "grid")
            found.append(finding(source, FindingCode.EMPTY_GRID, message, line=line, hint=hint, stage=stage))
    return found


def _of_error(source: KernelSource, reply: CaseReply, stage: Stage) -> list[Finding]:
    error = reply.error
    assert error is not None  # noqa: S101 - the caller checked
    table = {
        "deadlock": (FindingCode.DEADLOCK, "Start the copy (or signal the semaphore) before it is waited for."),
        "out-of-bounds-read": (
            FindingCode.OUT_OF_BOUNDS_READ,
            "Keep the slice inside the array (a divisor as step) or pad on the host; blocks are padded, pl.ds is not.",
        ),
        "out-of-bounds-write": (FindingCode.OUT_OF_BOUNDS_WRITE, "Keep the slice inside the array."),
        "block-out-of-bounds": (FindingCode.INDEX_MAP_OUT_OF_BOUNDS, "Make the index map stay below the block count."),
        "revisited-output": (
            FindingCode.REVISITED_OUTPUT_BLOCK,
            "Visit each output block in consecutive steps only: put the axis its index map ignores last in the grid.",
        ),
    }
    for kind, (code, hint) in table.items():
        for seen in _kind(reply, kind):
            line = seen.lines[0] if seen.lines else None
            if kind == "block-out-of-bounds":
                line = _index_map_line(reply.facts, seen.operand) or line
            message = _first_sentence(seen.message)
            return [finding(source, code, message, line=line, hint=hint, stage=stage)]
    return [_plain_error(source, reply, error, stage)]


def _plain_error(source: KernelSource, reply: CaseReply, error: RawError, stage: Stage) -> Finding:
    line = error_line(error)
    text = _last_line(error.message)
    if error.phase != "interpret":
        return diagnose_error(source, error, reply.facts, None)[0]
    if "cannot be referenced directly" in error.message or "Buffers with a memory space of HBM" in error.message:
        hint = "Copy it to VMEM with pltpu.sync_copy or make_async_copy first."
        return finding(source, FindingCode.LOAD_FROM_HBM, text, line=line, hint=hint, stage=stage)
    message = f"The interpreter could not run it: {error.type_name}: {text}"
    return finding(
        source, FindingCode.INTERPRET_UNSUPPORTED, message, line=line, severity=Severity.WARNING, stage=stage
    )


def _of_mismatch(source: KernelSource, judged: Judged, stage: Stage, *, known: bool) -> list[Finding]:
    reply = judged.reply
    found: list[Finding] = []
    for index, item in enumerate(judged.comparisons):
        if item.passed:
            continue
        name = f"output {index}" if len(judged.comparisons) > 1 else "the output"
        if item.kind in ("shape", "dtype"):
            code, message = FindingCode.WRONG_RESULT, f"{name}: {item.explanation}."
            found.append(finding(source, code, message, line=_store_line(reply.facts, index), stage=stage))
            continue
        found.append(_value_finding(source, judged, index, name, stage))
    if known:  # the race or the empty grid is the cause; the wrong result is its symptom
        found = [item.model_copy(update={"severity": Severity.NOTE}) for item in found]
    return found


def _value_finding(source: KernelSource, judged: Judged, index: int, name: str, stage: Stage) -> Finding:
    reply, item = judged.reply, judged.comparisons[index]
    unwritten = item.kind == "nonfinite" or _holds_fill(reply, index)
    message = f"{name[0].upper()}{name[1:]} is wrong: {item.explanation}."
    if unwritten:
        aliased = _aliased_output(reply.facts, index)
        if aliased is not None:
            text = (
                f"{message} Aliasing shares the HBM buffer, not the window: what is not written is flushed as garbage."
            )
            hint = "Write the whole window, or take the output in memory_space=pl.ANY and copy only what changes."
            line = _output_store_line(aliased, index) or aliased.get("line")
            return finding(source, FindingCode.ALIAS_NOT_CARRIED, text, line=line, hint=hint, stage=stage)
        for kind, code, hint in (
            (
                "overhang-read",
                FindingCode.PARTIAL_BLOCK_UNMASKED,
                "Mask what lies past the array in the last block (jnp.where on its index) before it is reduced.",
            ),
            (
                "uninitialized-read",
                FindingCode.UNINITIALIZED_READ,
                "Write it first, for an accumulator under pl.when at the first step of the reduction axis.",
            ),
        ):
            for seen in _kind(reply, kind):
                line = seen.lines[0] if seen.lines else None
                text = f"{message} {seen.message[0].upper()}{seen.message[1:]}."
                return finding(source, code, text, line=line, hint=hint, stage=stage)
        if item.kind == "nonfinite":
            text = f"{message} Part of it is never written."
            hint = "Let the grid cover the whole output (pl.cdiv) and write every block."
            return finding(
                source,
                FindingCode.UNINITIALIZED_READ,
                text,
                line=_store_line(reply.facts, index),
                hint=hint,
                stage=stage,
            )
    low = _low_precision_accumulator(reply.facts)
    if low is not None and item.kind in ("wrong", "drift") and (item.max_rel_err or 0) < 0.5:
        operand, line = low
        text = f"{message} {operand} accumulates over grid steps in a 16-bit type."
        hint = "Accumulate in a float32 scratch and cast once at the last step."
        return finding(source, FindingCode.LOW_PRECISION_ACCUMULATION, text, line=line, hint=hint, stage=stage)
    code = FindingCode.NONFINITE_RESULT if item.kind == "nonfinite" else FindingCode.WRONG_RESULT
    return finding(source, code, message, line=_store_line(reply.facts, index), stage=stage)


def _holds_fill(reply: CaseReply, index: int) -> bool:
    """Whether an integer output holds the pattern that unwritten memory is filled with."""
    if index >= len(reply.outputs):
        return False
    values = reply.outputs[index]
    return values.dtype.kind in "iu" and bool(values.size) and bool((values == np.iinfo(values.dtype).max).any())


def _kind(reply: CaseReply, kind: str) -> Iterable[Observation]:
    return (seen for seen in reply.observations if seen.kind == kind)


def _kernel_with(facts: Mapping[str, Any], operand: str) -> Mapping[str, Any] | None:
    kernels = anatomy_of(facts)
    for kernel in kernels:
        if any(item["name"] == operand for item in kernel.get("operands", [])):
            return kernel
    return kernels[0] if kernels else None


def _outputs(kernel: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [item for item in kernel.get("operands", []) if item["kind"] == "out"]


def _aliased_output(facts: Mapping[str, Any], index: int) -> Mapping[str, Any] | None:
    kernels = anatomy_of(facts)
    if len(kernels) != 1:
        return None
    return kernels[0] if any(out == index for _, out in kernels[0].get("aliases", [])) else None


def _output_store_line(kernel: Mapping[str, Any], index: int) -> int | None:
    outputs = _outputs(kernel)
    stores: Mapping[str, list[int]] = kernel.get("stores", {})
    own = stores.get(outputs[index]["name"], []) if index < len(outputs) else []
    others = [line for item in outputs for line in stores.get(item["name"], [])]
    return next(iter([*own, *others]), None)


def _store_line(facts: Mapping[str, Any], index: int) -> int | None:
    kernels = anatomy_of(facts)
    if not kernels:
        return None
    return _output_store_line(kernels[-1], index if len(kernels) == 1 else 0) or kernels[-1].get("line")


def _index_map_line(facts: Mapping[str, Any], argument: str) -> int | None:
    for call in calls_of(facts):
        for operand in call.get("operands", []):
            if operand.get("argument") == argument and operand.get("index_map_line"):
                return int(operand["index_map_line"])
    return None


def _low_precision_accumulator(facts: Mapping[str, Any]) -> tuple[str, int | None] | None:
    for call, kernel in zip(calls_of(facts), anatomy_of(facts), strict=False):
        steps = int(np.prod([size or 1 for size in call.get("grid") or [1]]))
        for operand in call.get("operands", []):
            name = operand.get("argument") or ""
            both = name in kernel.get("loads", {}) and name in kernel.get("stores", {})
            kept = operand["kind"] == "scratch" or (operand.get("fetches") or steps) < steps
            if operand["kind"] in ("out", "scratch") and both and kept and operand["array"].startswith(_LOW_PRECISION):
                return name, next(iter(kernel["stores"][name]), None)
    return None


def _first_sentence(text: str) -> str:
    return text.strip().split("\n", maxsplit=1)[0]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return (lines[-1] if lines else "no message")[:600]


def _join(lines: Sequence[int]) -> str:
    return ", ".join(str(line) for line in lines)
