"""The port between the tools and whatever runs things: local processes, a TPU, another host.

The tools say *what* is to be traced, compiled, interpreted or referenced; a runtime in ``maxkernel_lab.runtimes`` says
where and under which walls. Everything here is plain data and numpy, so that neither side needs jax.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np

from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import KernelSource, ParamValue
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.verdicts import SandboxReport

Ending = Literal["completed", "raised", "exited", "crashed", "timed-out", "out-of-memory", "output-flood"]
"""How a child process ended. ``completed`` and ``raised`` carry a reply; the others do not."""

Exceeded = Literal["", "processor-time", "clock-time", "no-progress"]
"""Which limit ended a compile that is ``timed-out``."""

KERNEL_COMPILE_CPU_S: Final = 120.0
"""Processor time the compiler may spend on a Pallas kernel."""
PROGRAM_COMPILE_CPU_S: Final = 300.0
"""Likewise on a program with computation outside Pallas: whole models of JaxBench need up to 110 s."""


PASSES_FOLDER: Final = "mosaic"
"""Name of the folder in ``dump_dir`` that holds Mosaic's passes."""


def compile_cpu_s(facts: Mapping[str, Any]) -> float:
    """Return the processor time a compile may take, by what tracing found in the program."""
    alone = bool(facts.get("pallas_calls")) and not facts.get("flops_outside")
    return KERNEL_COMPILE_CPU_S if alone else PROGRAM_COMPILE_CPU_S


@dataclass(frozen=True)
class Frame:
    """One traceback or jaxpr source frame, innermost last in a sequence."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class RawError:
    """An exception as the worker saw it, unjudged.

    Attributes:
        type_name: class name, e.g. ``NotImplementedError``, ``XlaRuntimeError``.
        message: its text, whole.
        frames: user and library frames of the traceback.
        source_frames: jaxpr source info at the failing equation, where one was found.
        phase: what was being done: ``load``, ``trace``, ``lower``, ``export``, ``compile``, ``interpret``,
            ``reference``.
    """

    type_name: str
    message: str
    phase: str
    frames: tuple[Frame, ...] = ()
    source_frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class ChildReport:
    """How the process that did the work ended, and what stood around it.

    A compile that is ``timed-out`` says which limit it ``exceeded`` and how much of it was allowed.
    """

    ending: Ending
    exit_code: int | None = None
    signal: int | None = None
    wall_ms: int = 0
    cpu_ms: int | None = None
    exceeded: Exceeded = ""
    allowed_s: float = 0.0
    peak_rss_bytes: int | None = None
    stdout_tail: str = ""
    stderr_tail: str = ""
    sandbox: SandboxReport | None = None


CHANGED = "changed"
"""``Attempt.event`` of something in jax, numpy or the lab that is not what it was before the kernel was loaded."""


@dataclass(frozen=True)
class Attempt:
    """Something a kernel's code tried that is not a kernel's business, whether or not it hid the refusal.

    Noted inside the candidate's child: advice that can convict, never an acquittal.

    Attributes:
        what: in words, to follow "tried to".
        event: Python's audit event, or ``CHANGED``.
        line: line of the kernel's code that asked.
    """

    what: str
    event: str
    line: int | None = None


@dataclass(frozen=True)
class TraceRequest:
    """Load a kernel, trace it for abstract inputs, export it per target.

    Attributes:
        inputs: abstract inputs in argument order.
        params: merged over the file's ``PARAMS``.
        targets: one export per target (exports differ by abstract device). Empty: trace only.
        is_reference: the source is trusted reference code (plain JAX); same walls, same path.
        judged: a verdict rests on this trace: look also whether the kernel changed the packages it runs on.
        toolchain: name of the toolchain to trace with, as in :class:`CompileRequest`; exports fit their own line of
            jax.
    """

    kernel: KernelSource
    inputs: tuple[ArraySpec, ...]
    params: Mapping[str, ParamValue] = field(default_factory=dict[str, ParamValue])
    targets: tuple[Target, ...] = ()
    is_reference: bool = False
    judged: bool = True
    toolchain: str = "default"
    timeout_s: float = 60.0


@dataclass(frozen=True)
class TraceReply:
    """What tracing gave.

    Attributes:
        exported: serialised ``jax.export`` bytes per target; a missing target has an entry in ``errors``.
        errors: the first error per target, or under ``None`` for one before any target.
        facts: what the jaxpr says (see ``maxkernel_tools.worker.inspecting``); plain JSON, advice only.
        outputs: output specs, flattened.
        declared_params: the file's ``PARAMS``. ``declared_space``: its ``SPACE``.
        attempts: what its code tried that the walls are there for.
    """

    child: ChildReport
    exported: Mapping[Target, bytes] = field(default_factory=dict[Target, bytes])
    errors: Mapping[Target | None, RawError] = field(default_factory=dict[Target | None, RawError])
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: tuple[ArraySpec, ...] = ()
    declared_params: Mapping[str, ParamValue] = field(default_factory=dict[str, ParamValue])
    declared_space: Mapping[str, Sequence[ParamValue]] = field(default_factory=dict[str, Sequence[ParamValue]])
    imported_files: Mapping[str, str] = field(default_factory=dict[str, str])
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True)
class CompileRequest:
    """Compile exported bytes for one target.

    Attributes:
        options: per-compile TPU options, e.g. ``{"xla_tpu_scoped_vmem_limit_kib": "65536"}``.
        dumps: keep the final schedule (slower by 1.1 to 2.6 times). ``passes``: with it, in the folder ``mosaic``, the
            module after each pass of the Mosaic compiler.
        toolchain: name of the toolchain to compile with; ``default`` is the installed one.
        cpu_s: processor time the compiler may use, see :func:`compile_cpu_s`. The clock only backs it up, at a
            multiple, so that a busy machine does not make a good kernel look bad.
    """

    exported: bytes
    target: Target
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    dumps: bool = True
    passes: bool = False
    toolchain: str = "default"
    cpu_s: float = KERNEL_COMPILE_CPU_S


@dataclass(frozen=True)
class CompileReply:
    """What the compiler answered.

    Attributes:
        ok: it compiled.
        error: the compiler's exception, where it raised.
        crash_log: what it wrote to fd 2 before it died, where it aborted.
        memory: ``memory_analysis()`` fields in bytes. ``cost``: ``cost_analysis()`` numbers.
        hlo_text: optimised HLO.
        dump_dir: folder of the schedule dumps (gzip files, original names without the time stamp), when asked for;
            it lies in the compile cache and must not be changed.
        cached: answered from the cache.
        restarted: the service had died and was restarted for this request or by it.
        versions: ``jax``, ``jaxlib``, ``libtpu``.
    """

    child: ChildReport
    ok: bool
    compile_ms: int
    cached: bool = False
    restarted: bool = False
    error: RawError | None = None
    crash_log: str = ""
    memory: Mapping[str, int] = field(default_factory=dict[str, int])
    cost: Mapping[str, float] = field(default_factory=dict[str, float])
    hlo_text: str = ""
    dump_dir: Path | None = None
    versions: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class InterpretOptions:
    """How TPU interpret mode is set up; see ``pltpu.InterpretParams``."""

    detect_races: bool = False
    uninitialized_memory: Literal["nan", "zero"] = "nan"
    out_of_bounds_reads: Literal["raise", "uninitialized"] = "raise"
    num_cores: int = 1
    dma_execution_mode: Literal["eager", "on_wait"] = "on_wait"
    buffer_bounds: Literal["logical", "padded"] = "logical"
    random_seed: int | None = None


@dataclass(frozen=True)
class InterpretCase:
    """Concrete inputs and the options to run them under."""

    inputs: tuple[np.ndarray[Any, Any], ...]
    options: InterpretOptions = InterpretOptions()


@dataclass(frozen=True)
class InterpretRequest:
    """Run a kernel's one trace per shape in interpret mode; optionally export the same traces."""

    kernel: KernelSource
    cases: tuple[InterpretCase, ...]
    params: Mapping[str, ParamValue] = field(default_factory=dict[str, ParamValue])
    target: Target = Target.V6E
    export: bool = True
    timeout_s: float = 60.0


@dataclass(frozen=True)
class Observation:
    """One thing the interpreter was seen doing, from inside the candidate's child: advice, never an acquittal.

    Attributes:
        kind: ``race``, ``uninitialized-read``, ``overhang-read`` (past the array, inside its last block),
            ``out-of-bounds-read``, ``out-of-bounds-write``, ``deadlock``, ``semaphore-left``, ``revisited-output``.
        message: what happened, with names of operands.
        lines: lines of the kernel file involved, the one to edit first.
        operand: the kernel argument concerned (``x_ref``, ``sem[1]``), where known.
        between_cores: the two sides of a race ran on different cores.
        count: how often.
    """

    kind: str
    message: str
    lines: tuple[int, ...] = ()
    operand: str = ""
    between_cores: bool = False
    count: int = 1


@dataclass(frozen=True)
class CaseReply:
    """What one case gave: arrays, or an error, and what the sanitizer saw.

    Attributes:
        outputs: flattened outputs, in order of the output tree.
        exported: bytes from the same trace; the first case of each shape carries them.
        facts: what the jaxpr says, and under ``anatomy`` names and lines of each kernel's arguments.
        races: what the race detector said, one text each.
        inputs_changed: indices of inputs whose bytes differ after the call.
        tree: structure of the output.
        observations: what the interpreter was seen doing.
        export_error: the first error of exporting the same trace.
        attempts: what the kernel's code has tried so far that the walls are there for.
    """

    outputs: tuple[np.ndarray[Any, Any], ...] = ()
    error: RawError | None = None
    exported: bytes | None = None
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    races: tuple[str, ...] = ()
    inputs_changed: tuple[int, ...] = ()
    wall_ms: int = 0
    tree: str = ""
    observations: tuple[Observation, ...] = ()
    export_error: RawError | None = None
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True)
class InterpretReply:
    """Replies in case order; shorter than the request when the child died, the culprit being the first missing."""

    child: ChildReport
    cases: tuple[CaseReply, ...] = ()
    error: RawError | None = None


@dataclass(frozen=True)
class ReferenceRequest:
    """Draw inputs and compute what is right, in a process no candidate enters.

    Attributes:
        source: text of ``reference.py`` (``workload`` and, for a task, ``create_inputs(rng, dims, dtype)``).
        dims: sizes of the case, for ``create_inputs``.
        specs: abstract inputs, where the reference has no ``create_inputs``: drawn by the general policy.
        dtype: task dtype, short spelling.
        seed: secret; feeds ``numpy.random.default_rng``.
        mode: hardened or classic distributions.
        oracle: compute a second answer in this precision from the same inputs.
        only_inputs: skip computing the answer.
        overrides: inputs to use instead of drawing them, by index.
        examine: ``overrides`` hold exported modules as bytes; read them back instead of computing anything.
    """

    source: KernelSource
    seed: int
    dtype: str = "bf16"
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    specs: tuple[ArraySpec, ...] = ()
    mode: Literal["hardened", "classic"] = "hardened"
    oracle: Literal["f64", "f32", "none"] = "f64"
    only_inputs: bool = False
    scale: float = 1.0
    overrides: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict[int, np.ndarray[Any, Any]])
    examine: bool = False
    timeout_s: float = 120.0


@dataclass(frozen=True)
class ReferenceReply:
    """Inputs, the reference's own outputs at the task's dtype, and the oracle's.

    ``examined`` holds, per exported module, what ``maxkernel_tools.worker.referencing.examining`` read in it.
    """

    child: ChildReport
    inputs: tuple[np.ndarray[Any, Any], ...] = ()
    outputs: tuple[np.ndarray[Any, Any], ...] = ()
    oracle: tuple[np.ndarray[Any, Any], ...] = ()
    tree: str = ""
    error: RawError | None = None
    examined: tuple[Mapping[str, Any], ...] = ()


class Runtime(Protocol):
    """Where the lab's work runs. Implementations own processes, walls, deadlines and caches.

    Every method answers in bounded time. A candidate's failure is in the reply; ``MachineryError`` is raised only when
    the lab itself failed.
    """

    async def trace(self, request: TraceRequest) -> TraceReply:
        """Load, trace and export a kernel in a sandboxed child."""
        ...

    async def compile(self, request: CompileRequest) -> CompileReply:
        """Compile exported bytes with the real TPU compiler."""
        ...

    async def interpret(self, request: InterpretRequest) -> InterpretReply:
        """Run a kernel's numerics in TPU interpret mode in a sandboxed child."""
        ...

    async def reference(self, request: ReferenceRequest) -> ReferenceReply:
        """Draw inputs and compute the oracle in a process that never loads candidate code."""
        ...

    async def versions(self) -> Mapping[str, str]:
        """Versions of python, jax, jaxlib and libtpu, read without importing jax."""
        ...
