"""What a diagnosis has to go on, and how a draft of one becomes a finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from maxkernel_tools.diagnosing.sourcemap import SourceMap, source_map
from maxkernel_tools.diagnosing.wording import Words, read_words
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import CANDIDATE_FILE_NAME, KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import RawError

_OPERATION = re.compile(r'"(?:tpu|vector|arith|math)\.(\w+)"')
_LOWERED_FROM = {
    "dynamic_gather": "gather",
    "matmul": "dot_general",
    "transpose": "transpose",
    "reshape": "reshape",
    "shape_cast": "reshape",
    "multi_reduction": "reduce_sum",
    "strided_load": "get",
    "vector_load": "get",
    "vector_store": "swap",
    "enqueue_dma": "dma_start",
    "memref_slice": "dma_start",
    "bitcast": "bitcast_convert_type",
    "concatenate": "concatenate",
    "iota": "iota",
}
_STAGES = {
    "load": Stage.SOURCE,
    "trace": Stage.TRACE,
    "lower": Stage.LOWER,
    "export": Stage.LOWER,
    "compile": Stage.COMPILE,
    "interpret": Stage.SANITIZE,
    "reference": Stage.TEST,
}


@dataclass(frozen=True)
class Evidence:
    """One failure: the error as it was raised, what the jaxpr said, and the kernel's text."""

    kernel: KernelSource
    error: RawError
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    target: Target | None = None

    @cached_property
    def words(self) -> Words:
        """The message in parts."""
        return read_words(self.error.message)

    @property
    def source(self) -> SourceMap:
        """The kernel's syntax tree."""
        return source_map(self.kernel)

    @property
    def stage(self) -> Stage:
        """The stage the error belongs to."""
        return _STAGES.get(self.error.phase, Stage.COMPILE)

    @property
    def calls(self) -> list[Mapping[str, Any]]:
        """Facts of every ``pallas_call``."""
        return cast("list[Mapping[str, Any]]", list(self.facts.get("pallas_calls", ())))

    @cached_property
    def body_line(self) -> int | None:
        """The innermost line of the kernel file the error names outside any ``pallas_call`` expression, if any."""
        for line in self._lines():
            if not self.source.inside_pallas_call(line):
                return line
        return None

    @cached_property
    def line(self) -> int | None:
        """The best line known: of the body where possible, else of the ``pallas_call``."""
        return self.body_line or self._operation_line or next(self._lines(), None)

    @property
    def _operation_line(self) -> int | None:
        """Where the body first uses what the compiler's operation was lowered from."""
        match = _OPERATION.search(self.words.operation) if self.error.phase == "compile" else None
        primitive = _LOWERED_FROM.get(match.group(1)) if match else None
        for call in self.calls:
            if primitive in call.get("primitive_lines", {}):
                return call["primitive_lines"][primitive]
        return None

    @cached_property
    def call(self) -> Mapping[str, Any] | None:
        """Facts of the ``pallas_call`` the error is about, where that is known."""
        calls = self.calls
        if len(calls) == 1:
            return calls[0]
        named = [call for call in calls if f" {call.get('function')} at " in self.error.message]
        if named:
            return named[0]
        lines = set(self._lines())
        at = [call for call in calls if call.get("line") in lines]
        return at[0] if at else None

    @property
    def call_line(self) -> int | None:
        """A line of the ``pallas_call`` the error is about."""
        if self.call is not None and isinstance(self.call.get("line"), int):
            return self.call["line"]
        return next((line for line in self._lines() if self.source.inside_pallas_call(line)), None)

    def operands(self) -> list[Mapping[str, Any]]:
        """Facts of the operands of the call the error is about."""
        return [] if self.call is None else list(self.call.get("operands", ()))

    def operand_line(self, operand: Mapping[str, Any]) -> int | None:
        """The line where an operand's block spec or scratch shape is written."""
        return operand_line(self.source, self.call, operand) or self.call_line

    def _lines(self) -> Iterator[int]:
        for file, line in reversed(self.words.places):
            if file == CANDIDATE_FILE_NAME:
                yield line
        for frames in (self.error.frames, self.error.source_frames):
            for frame in reversed(frames):
                if frame.file == CANDIDATE_FILE_NAME:
                    yield frame.line


def operand_line(source: SourceMap, call: Mapping[str, Any] | None, operand: Mapping[str, Any]) -> int | None:
    """Return where the block spec or scratch shape of ``operand`` of ``call`` is written."""
    name = str(operand.get("name", ""))
    digits = "".join(character for character in name if character.isdigit())
    return source.operand_line(
        None if call is None else call.get("line"),
        str(operand.get("kind", "in")),
        int(digits or 0),
        operand.get("index_map_line"),
    )


@dataclass(frozen=True)
class Draft:
    """A diagnosis before it is bound to a file and target.

    Attributes:
        code: the class.
        message: cause, with actual and allowed values.
        hint: one next action.
        line: the line to edit.
        severity: error unless said otherwise.
        stage: the stage, where it differs from the error's.
    """

    code: FindingCode
    message: str
    hint: str
    line: int | None = None
    severity: Severity = Severity.ERROR
    stage: Stage | None = None


Rule = Callable[[Evidence], Draft | None]
"""Recognises one class of failure, or answers None."""


def finish(draft: Draft, kernel: KernelSource, stage: Stage, target: Target | None) -> Finding:
    """Bind a draft to the kernel's file and target."""
    return Finding(
        code=draft.code,
        severity=draft.severity,
        stage=draft.stage or stage,
        message=draft.message,
        file=kernel.display_name,
        line=draft.line,
        source_line=kernel.line(draft.line),
        hint=draft.hint,
        target=target,
    )
