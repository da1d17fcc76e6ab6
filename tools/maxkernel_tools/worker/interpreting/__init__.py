"""Runs a kernel's numerics in TPU interpret mode, from the very trace that is exported.

Each distinct input shape is traced once, under the abstract device of the target. That trace is exported, described,
and (with its kernel calls set to interpret) run on the CPU for every case of the shape. Candidate code never sees a
concrete input: it is called with tracers only. Replies are yielded case by case, so that a hang in the third keeps
the first two.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import jax
import numpy as np
from jax.extend.core import jaxpr_as_fun

from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import CANDIDATE_FILE_NAME
from maxkernel_tools.runtime import CaseReply, Frame, InterpretCase, InterpretOptions, InterpretRequest, RawError
from maxkernel_tools.worker import inspecting
from maxkernel_tools.worker.devices import pretend
from maxkernel_tools.worker.failures import WorkFailure, phase
from maxkernel_tools.worker.interpreting.anatomy import KernelAnatomy, anatomies
from maxkernel_tools.worker.interpreting.rewriting import interpret_params, interpreted
from maxkernel_tools.worker.interpreting.watching import Watcher, reset_interpreter, skip_gpu_interpreter, watching
from maxkernel_tools.worker.loading import bind, load_kernel
from maxkernel_tools.worker.presenting import presented_as
from maxkernel_tools.worker.tracing import abstract, canonicalize_paths, export_bytes
from maxkernel_tools.worker.walls import attempts

# Interpretation spends its time in callbacks, not in compiled code, so what counts is how fast it is compiled: the last
# two take compilation from 1.5 to 0.5 processor seconds on a tiled matrix product (jax 0.10.2).
_COMPILE_OPTIONS: Final[dict[str, Any]] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
_UNKNOWN_OPTION: Final = re.compile(r"No such compile option: '(\w+)'")


@dataclass
class _Shape:
    """What one input shape gave: its trace, and one executable per set of options."""

    closed: Any = None
    anatomies: list[KernelAnatomy] = field(default_factory=list[KernelAnatomy])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    tree: str = ""
    exported: bytes | None = None
    export_error: RawError | None = None
    error: RawError | None = None
    compiled: dict[InterpretOptions, Any] = field(default_factory=dict[InterpretOptions, Any])
    watchers: dict[InterpretOptions, Watcher] = field(default_factory=dict[InterpretOptions, Watcher])


def interpret(request: InterpretRequest) -> Iterator[CaseReply]:
    """Yield one reply per case, in order; a failure of the candidate is in the reply.

    Raises:
        WorkFailure: the file could not be loaded; there is no case to report on.
    """
    canonicalize_paths(request.kernel.import_roots)
    skip_gpu_interpreter()
    with presented_as(request.target):
        function = bind(load_kernel(request.kernel), request.params)
    shapes: dict[tuple[str, ...], _Shape] = {}
    edges = (*request.cases[:1], *request.cases[-1:])
    for case in request.cases:
        started = time.perf_counter()
        specs = [ArraySpec.of(array.dtype.name, tuple(array.shape)) for array in case.inputs]
        key = tuple(str(spec) for spec in specs)
        first = key not in shapes
        if first:
            shapes[key] = _trace(request, function, specs)
        shape = shapes[key]
        reply = CaseReply(error=shape.error) if shape.error else _run(request, shape, case)
        yield replace(
            reply,
            exported=shape.exported if first else None,
            export_error=shape.export_error,
            facts=shape.facts,
            tree=shape.tree,
            # reading what changed takes a while, so once after the first trace and once at the end
            attempts=attempts.seen() if any(case is edge for edge in edges) else (),
            wall_ms=round(1000 * (time.perf_counter() - started)),
        )


def _trace(request: InterpretRequest, function: Callable[..., Any], specs: Sequence[ArraySpec]) -> _Shape:
    shape = _Shape()
    arguments = [abstract(spec) for spec in specs]
    try:
        with presented_as(request.target), pretend(request.target), phase("trace"):
            traced = jax.jit(function).trace(*arguments)
            shape.closed = traced.jaxpr
            shape.tree = str(jax.tree.structure(traced.out_info))
    except WorkFailure as failure:
        shape.error = failure.error
        return shape
    shape.anatomies = anatomies(shape.closed)
    shape.facts = _facts(shape)
    if request.export:
        retold = jaxpr_as_fun(shape.closed)

        def workload(*inputs: Any) -> Any:
            return tuple(retold(*inputs))

        try:
            with pretend(request.target):
                shape.exported = export_bytes(workload, arguments)
        except WorkFailure as failure:
            shape.export_error = failure.error
    return shape


def _facts(shape: _Shape) -> dict[str, Any]:
    facts = dict(inspecting.jaxpr_facts(shape.closed, CANDIDATE_FILE_NAME))
    facts["anatomy"] = [item.as_json() for item in shape.anatomies]
    return facts


def _run(request: InterpretRequest, shape: _Shape, case: InterpretCase) -> CaseReply:
    # an executable reports to the watcher it was lowered under, so the two are kept together
    watcher = shape.watchers.setdefault(case.options, Watcher())
    watcher.clear()
    before = [array.tobytes() for array in case.inputs]
    outputs: tuple[np.ndarray[Any, Any], ...] = ()
    error: RawError | None = None
    # the race detector spreads copies over virtual clocks by numpy's global generator
    np.random.seed(case.options.random_seed or 0)
    with watching(watcher, shape.anatomies, request.target):
        try:
            with phase("interpret"):
                if case.options not in shape.compiled:
                    shape.compiled[case.options] = _executable(request, shape, case)
                outputs = tuple(np.asarray(output) for output in shape.compiled[case.options](*case.inputs))
        except WorkFailure as failure:
            reset_interpreter()
            error = _with_lines(failure.error, watcher)
    changed = tuple(index for index, array in enumerate(case.inputs) if array.tobytes() != before[index])
    return CaseReply(
        outputs=outputs,
        error=error,
        races=tuple(watcher.races),
        observations=watcher.observations(),
        inputs_changed=changed,
    )


def _executable(request: InterpretRequest, shape: _Shape, case: InterpretCase) -> Any:
    run = jaxpr_as_fun(interpreted(shape.closed, interpret_params(case.options)))
    with pretend(request.target):
        lowered = jax.jit(run).trace(*case.inputs).lower(lowering_platforms=("cpu",))
        return _compiled(lowered, dict(_COMPILE_OPTIONS))


def _compiled(lowered: Any, options: dict[str, Any]) -> Any:
    """Compile with those of ``options`` that this line of jax knows; it names one it does not before it starts."""
    while True:
        try:
            return lowered.compile(compiler_options=options)
        except jax.errors.JaxRuntimeError as error:
            unknown = _UNKNOWN_OPTION.search(str(error))
            if unknown is None or options.pop(unknown[1], None) is None:
                raise


def _with_lines(error: RawError, watcher: Watcher) -> RawError:
    lines = [line for seen in watcher.observations() for line in seen.lines[:1]]
    frames = tuple(Frame(CANDIDATE_FILE_NAME, line, "kernel") for line in lines)
    return RawError(error.type_name, error.message, error.phase, error.frames, frames or error.source_frames)


__all__ = ["interpret"]
