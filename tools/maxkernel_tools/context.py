"""What one tool call is given: a runtime, a place for artifacts, a way to report progress, the workload it is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import KernelSource, ParamValue
from maxkernel_tools.records.results import Artifact

if TYPE_CHECKING:
    from maxkernel_tools.runtime import Runtime
    from maxkernel_tools.tasks import Task

Progress = Callable[[float, float | None, str], Awaitable[None]]
"""``await progress(done, total, message)``: at least every 10 s of a long call."""


class ArtifactSink(Protocol):
    """Keeps what is too long for a result under the run, by content."""

    async def put(self, name: str, kind: str, data: bytes | str | Path) -> Artifact:
        """Store ``data`` (bytes, text or a file to copy) as ``name`` and return its record."""
        ...


@dataclass(frozen=True)
class Workload:
    """What a kernel has to compute.

    Attributes:
        inputs: abstract inputs at full size, in argument order.
        label: task id, or the inputs as text.
        task: the task, where there is one.
        reference: source of the reference, where there is one (the task's, or the caller's own file).
    """

    inputs: tuple[ArraySpec, ...]
    label: str
    task: Task | None = None
    reference: KernelSource | None = None


@dataclass(frozen=True)
class KernelCall:
    """One candidate on one workload: what compile, test, profile and autotune have in common."""

    kernel: KernelSource
    workload: Workload
    params: dict[str, ParamValue] = field(default_factory=dict[str, ParamValue])


@dataclass(frozen=True)
class CallContext:
    """The surroundings of one tool call."""

    runtime: Runtime
    artifacts: ArtifactSink
    progress: Progress
    run_id: str
