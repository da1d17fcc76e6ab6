"""Findings: what a tool has to say about a kernel, with a stable code and the line a person must edit."""

from __future__ import annotations

from enum import StrEnum

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.targets import Target


class Severity(StrEnum):
    """How much a finding matters: an error makes ``ok`` false."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Stage(StrEnum):
    """Where in a candidate's life a finding arose."""

    SOURCE = "source"
    GUARD = "guard"
    TRACE = "trace"
    LOWER = "lower"
    COMPILE = "compile"
    SCHEDULE = "schedule"
    TEST = "test"
    SANITIZE = "sanitize"
    PROFILE = "profile"
    TUNE = "tune"
    DIFF = "diff"
    LAB = "lab"


class FindingCode(StrEnum):
    """The stable vocabulary of ``docs/finding-codes.md``. Codes are added, never renamed."""

    # Source
    SYNTAX_ERROR = "syntax-error"
    IMPORT_ERROR = "import-error"
    MISSING_ENTRY = "missing-entry"
    TRACE_ERROR = "trace-error"
    CAPTURED_CONSTANT = "captured-constant"
    STORE_DTYPE_MISMATCH = "store-dtype-mismatch"
    # Lowering and compile
    BLOCK_SHAPE_TILING = "block-shape-tiling"
    DIMENSION_SEMANTICS_LENGTH = "dimension-semantics-length"
    BUFFER_COUNT = "buffer-count"
    VMEM_OOM = "vmem-oom"
    SMEM_OOM = "smem-oom"
    HBM_OOM = "hbm-oom"
    SCALAR_STORE_TO_VMEM = "scalar-store-to-vmem"
    SMEM_VECTOR_LOAD = "smem-vector-load"
    LOAD_FROM_HBM = "load-from-hbm"
    DYNAMIC_SLICE_ALIGNMENT = "dynamic-slice-alignment"
    DMA_SLICE_ALIGNMENT = "dma-slice-alignment"
    LANE_STRIDE_UNSUPPORTED = "lane-stride-unsupported"
    GATHER_UNSUPPORTED = "gather-unsupported"
    UNIMPLEMENTED_PRIMITIVE = "unimplemented-primitive"
    MATMUL_ACCUMULATOR_DTYPE = "matmul-accumulator-dtype"
    MATMUL_OPERAND_DTYPE = "matmul-operand-dtype"
    RESHAPE_UNSUPPORTED = "reshape-unsupported"
    DMA_SHAPE_MISMATCH = "dma-shape-mismatch"
    FLOAT16_UNSUPPORTED = "float16-unsupported"
    INT64_UNSUPPORTED = "int64-unsupported"
    X64_ENABLED = "x64-enabled"
    UNSUPPORTED_ON_GENERATION = "unsupported-on-generation"
    NEEDS_SHARD_MAP = "needs-shard-map"
    COMPILER_CRASH = "compiler-crash"
    COMPILE_TIME_BLOWUP = "compile-time-blowup"
    COMPILE_ERROR = "compile-error"
    # Silent faults
    EMPTY_GRID = "empty-grid"
    PARTIAL_BLOCK_UNMASKED = "partial-block-unmasked"
    UNINITIALIZED_READ = "uninitialized-read"
    REVISITED_OUTPUT_BLOCK = "revisited-output-block"
    PARALLEL_REDUCTION_AXIS = "parallel-reduction-axis"
    LOW_PRECISION_ACCUMULATION = "low-precision-accumulation"
    DMA_RACE = "dma-race"
    DEADLOCK = "deadlock"
    INDEX_MAP_OUT_OF_BOUNDS = "index-map-out-of-bounds"
    OUT_OF_BOUNDS_READ = "out-of-bounds-read"
    OUT_OF_BOUNDS_WRITE = "out-of-bounds-write"
    ALIAS_NOT_CARRIED = "alias-not-carried"
    DEFAULT_MATMUL_PRECISION = "default-matmul-precision"
    WRONG_RESULT = "wrong-result"
    NONFINITE_RESULT = "nonfinite-result"
    MISSING_COST_ESTIMATE = "missing-cost-estimate"
    UNSTABLE_KERNEL_NAME = "unstable-kernel-name"
    # Limits of the lab
    INTERPRET_PRNG_STUB = "interpret-prng-stub"
    INTERPRET_UNSUPPORTED = "interpret-unsupported"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"
    MACHINERY_FAILED = "machinery-failed"
    LAB_UNAVAILABLE = "lab-unavailable"
    INVALID_ARGUMENT = "invalid-argument"
    PROCESS_EXITED = "process-exited"
    OUTPUT_FLOOD = "output-flood"
    SCHEDULE_UNAVAILABLE = "schedule-unavailable"
    SHAPE_NOT_EXERCISED = "shape-not-exercised"
    SANDBOX_INCOMPLETE = "sandbox-incomplete"
    RECEIPT_MISMATCH = "receipt-mismatch"
    # Profile: what to try next, each grounded in a figure of the profile
    PROFILE_ADVICE = "profile-advice"
    # Integrity
    INTEGRITY_NO_PALLAS = "integrity-no-pallas"
    INTEGRITY_DECOY_KERNEL = "integrity-decoy-kernel"
    INTEGRITY_LITTLE_WORK_INSIDE = "integrity-little-work-inside"
    INTEGRITY_HOST_CALLBACK = "integrity-host-callback"
    INTEGRITY_LARGE_CONSTANT = "integrity-large-constant"
    INTEGRITY_REFERENCE_CALL = "integrity-reference-call"
    INTEGRITY_INTERPRET_LEFT_ON = "integrity-interpret-left-on"
    INTEGRITY_INPUT_MUTATION = "integrity-input-mutation"
    INTEGRITY_UNDECLARED_ALIAS = "integrity-undeclared-alias"
    INTEGRITY_FORBIDDEN_ACCESS = "integrity-forbidden-access"
    INTEGRITY_TAMPERING = "integrity-tampering"
    INTEGRITY_FALLBACK = "integrity-fallback"
    INTEGRITY_TRACE_MISMATCH = "integrity-trace-mismatch"
    INTEGRITY_OUTPUT_TYPE = "integrity-output-type"
    INTEGRITY_INPUT_IGNORED = "integrity-input-ignored"
    INTEGRITY_UNSTABLE_OUTPUT = "integrity-unstable-output"
    INTEGRITY_BELOW_ROOFLINE = "integrity-below-roofline"


class Finding(Record):
    """One thing a tool has to say.

    Attributes:
        code: stable, kebab-case.
        severity: ``error`` makes the result not ok; ``warning`` is a likely fault; ``note`` is information.
        stage: where it arose.
        message: the cause, with actual and allowed values.
        file: the user's file, where known.
        line: the line a person must edit, 1-based, where known.
        source_line: the text of that line.
        hint: one next action.
        target: the TPU generation it applies to, where it applies to one.
        toolchain: likewise the toolchain, where several were asked.
    """

    code: FindingCode
    severity: Severity
    stage: Stage
    message: str
    file: str | None = None
    line: int | None = None
    source_line: str | None = None
    hint: str = ""
    target: Target | None = None
    toolchain: str | None = None
