"""Kernels with their expected findings written into them, and the way tests compile one.

A file under ``tests/data/kernels`` starts with ``# INPUTS spec ...``; a line ends in ``# EXPECT code`` where that
finding is due. A file without any must compile without an error or a warning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from maxkernel_tools.compiling import compile_kernel
from maxkernel_tools.compiling.tool import CompileOptions
from maxkernel_tools.context import CallContext, KernelCall, Workload
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.compiles import CompileResult, TargetReport
from maxkernel_tools.records.findings import Severity
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.results import Artifact
from maxkernel_tools.records.targets import Target

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from maxkernel_tools.runtime import Runtime

ROOT = Path(__file__).resolve().parents[1] / "data" / "kernels"
FAMILIES = ("layout", "memory", "dtype", "control", "dma")
_EXPECT = re.compile(r"# EXPECT ([a-z0-9-]+)$")


@dataclass(frozen=True)
class KernelFile:
    """One kernel and the findings due."""

    name: str
    text: str
    inputs: tuple[str, ...]
    expected: frozenset[tuple[str, int]]


@dataclass
class Sink:
    """Keeps artifacts in memory."""

    kept: dict[str, bytes] = field(default_factory=dict)

    async def put(self, name: str, kind: str, data: bytes | str | Path) -> Artifact:
        """Keep ``data``."""
        content = _content(data)
        self.kept[name] = content
        return Artifact(uri=f"maxkernel://runs/r-test/{name}", kind=kind, bytes=len(content))


def _content(data: bytes | str | Path) -> bytes:
    if isinstance(data, Path):
        return data.read_bytes()
    return data.encode() if isinstance(data, str) else data


def kernel_files() -> list[KernelFile]:
    """Return every kernel under ``tests/data/kernels``."""
    return [_read(path) for path in sorted(ROOT.glob("*/*.py"))]


def _read(path: Path) -> KernelFile:
    text = path.read_text(encoding="utf-8")
    head, *lines = text.splitlines()
    expected = {(match.group(1), number) for number, line in enumerate(lines, 2) if (match := _EXPECT.search(line))}
    return KernelFile(
        name=f"{path.parent.name}/{path.stem}",
        text=text,
        inputs=tuple(head.removeprefix("# INPUTS ").split()),
        expected=frozenset(expected),
    )


def compiled(
    portal: BlockingPortal,
    runtime: Runtime,
    text: str,
    inputs: tuple[str, ...],
    targets: tuple[Target, ...],
    *,
    dumps: bool = False,
    sink: Sink | None = None,
) -> CompileResult:
    """Compile a kernel's text through the tool."""

    async def quiet(done: float, total: float | None, message: str) -> None:
        del done, total, message

    specs = tuple(ArraySpec.parse(text) for text in inputs)
    call = KernelCall(kernel=KernelSource(text=text), workload=Workload(inputs=specs, label="test"))
    context = CallContext(runtime=runtime, artifacts=sink or Sink(), progress=quiet, run_id="r-test")
    return portal.call(compile_kernel, call, targets, context, CompileOptions(dumps=dumps))


def serious(report: TargetReport) -> set[tuple[str, int | None]]:
    """Errors and warnings of a report, as code and line."""
    return {(f.code.value, f.line) for f in report.findings if f.severity is not Severity.NOTE}


def everything(report: TargetReport) -> set[tuple[str, int | None]]:
    """All findings of a report, as code and line."""
    return {(f.code.value, f.line) for f in report.findings}
