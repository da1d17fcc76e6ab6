"""What ``compile_kernel`` answers."""

from __future__ import annotations

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.records.targets import Target


class WindowReport(Record):
    """One operand of a ``pallas_call`` and the VMEM it takes.

    Attributes:
        operand: ``in0``, ``out0``, ``scratch0``.
        array: whole array, like ``bf16[8192,8192]``.
        block: block shape, empty where the operand is not blocked.
        memory_space: ``vmem``, ``smem``, ``any``, ``semaphore``.
        buffers: copies held at once (2 when double-buffered).
        vmem_bytes: bytes of all buffers with tile padding.
        fetches: times a block is transferred over the whole grid, where the index map could be evaluated.
        hbm_bytes: bytes moved over the whole grid, where known.
    """

    operand: str
    array: str
    block: tuple[int, ...] = ()
    memory_space: str = "vmem"
    buffers: int = 1
    vmem_bytes: int = 0
    fetches: int | None = None
    hbm_bytes: int | None = None


class PallasCallReport(Record):
    """One ``pallas_call`` of the kernel."""

    name: str
    grid: tuple[int, ...]
    dimension_semantics: tuple[str, ...] = ()
    windows: tuple[WindowReport, ...] = ()
    vmem_bytes: int | None = None
    line: int | None = None


class TargetReport(Record):
    """The compiler's answer for one TPU generation. Bytes are bytes, times are wall time of the compiler.

    Attributes:
        vmem_bytes: what the largest kernel takes; the compiler's own map where dumps were kept, else blocks.
        vmem_scratch_bytes: of it, scratch and scoped buffers. ``vmem_spill_bytes``: of it, what registers spilled.
        vmem_limit_bytes: the limit in force. ``vmem_physical_bytes``: what ``vmem_limit_bytes`` may be raised to.
        toolchain: versions that answered. ``toolchain_name``: as it was asked for.
    """

    target: Target
    ok: bool
    compile_ms: int = 0
    cached: bool = False
    vmem_bytes: int | None = None
    vmem_scratch_bytes: int | None = None
    vmem_spill_bytes: int | None = None
    vmem_limit_bytes: int | None = None
    vmem_physical_bytes: int | None = None
    smem_bytes: int | None = None
    hbm_argument_bytes: int | None = None
    hbm_output_bytes: int | None = None
    hbm_temp_bytes: int | None = None
    flops: int | None = None
    hbm_bytes: int | None = None
    estimated_us: float | None = None
    estimate_source: str | None = None
    pallas_calls: tuple[PallasCallReport, ...] = ()
    toolchain: str = ""
    toolchain_name: str = "default"
    findings: tuple[Finding, ...] = ()


class CompileResult(ToolResult):
    """Answer of ``compile_kernel``: ``ok`` only if every target compiled without an error.

    Attributes:
        program_sha256: hash of the traced program without names and lines; empty where it was not traced.
        differences: what the toolchains do not agree on, where several were asked.
    """

    targets: tuple[TargetReport, ...] = ()
    outputs: tuple[str, ...] = ()
    program_sha256: str = ""
    differences: tuple[str, ...] = ()
