"""What a rule about a silent fault is given: the kernel, the call, and where its parts are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from maxkernel_tools.diagnosing.evidence import Draft, operand_line
from maxkernel_tools.diagnosing.sourcemap import SourceMap, source_map
from maxkernel_tools.records.kernels import KernelSource

Observation = Mapping[str, Any]


@dataclass(frozen=True)
class Scene:
    """One ``pallas_call`` of one kernel."""

    kernel: KernelSource
    call: Mapping[str, Any]

    @property
    def source(self) -> SourceMap:
        """The kernel's syntax tree."""
        return source_map(self.kernel)

    @property
    def line(self) -> int | None:
        """A line of the call."""
        return self.call.get("line")

    @property
    def grid(self) -> list[int]:
        """Extents of the grid."""
        return [int(extent or 0) for extent in self.call.get("grid", ())]

    def keyword_line(self, *names: str) -> int | None:
        """Return where a keyword of the call is written."""
        return self.source.keyword_line(self.line, *names) or self.line

    def operand_line(self, name: str) -> int | None:
        """Return where the block spec of an operand is written."""
        for operand in self.call.get("operands", ()):
            if operand.get("name") == name:
                return operand_line(self.source, self.call, operand) or self.line
        return self.line

    def argument(self, name: str) -> str:
        """Return what the body calls an operand."""
        for operand in self.call.get("operands", ()):
            if operand.get("name") == name:
                return str(operand.get("argument", name))
        return name


Rule = Callable[[Scene, Observation], Draft | None]


def span(box: object) -> str:
    """Return a box as text: ``[0:8, 0:128]``."""
    if not isinstance(box, list):
        return ""
    parts: list[Any] = list(box)  # pyright: ignore[reportUnknownArgumentType]
    return "[" + ", ".join(f"{part[0]}:{part[1]}" for part in parts) + "]"
