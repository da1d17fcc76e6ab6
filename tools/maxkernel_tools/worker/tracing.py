"""Traces a kernel for abstract inputs and exports it per target.

Owns the order load, trace, lower, export and the phase each error belongs to. What the jaxpr says is read by
``maxkernel_tools.worker.inspecting``; what an error means is judged elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import ml_dtypes
import numpy as np
from jax import export
from jax.extend import source_info_util

import maxkernel_tools
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import CANDIDATE_FILE_NAME
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import ChildReport, Frame, RawError, TraceReply, TraceRequest
from maxkernel_tools.worker import inspecting
from maxkernel_tools.worker.devices import pretend
from maxkernel_tools.worker.failures import WorkFailure, phase
from maxkernel_tools.worker.loading import bind, imported_files, load_kernel
from maxkernel_tools.worker.presenting import presented_as
from maxkernel_tools.worker.walls import attempts


@dataclass
class _Gathered:
    exported: dict[Target, bytes] = field(default_factory=dict[Target, bytes])
    errors: dict[Target | None, RawError] = field(default_factory=dict[Target | None, RawError])
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: tuple[ArraySpec, ...] = ()


def trace(request: TraceRequest) -> TraceReply:
    """Load, trace and export; every failure of the candidate is in the reply, which holds a placeholder ``child``."""
    done = ChildReport(ending="completed")
    gathered = _Gathered()
    canonicalize_paths(request.kernel.import_roots)
    targets = request.targets or (Target.V6E,)
    try:
        with presented_as(targets[0]):
            loaded = load_kernel(request.kernel)
        function = bind(loaded, request.params)
    except WorkFailure as failure:
        files = imported_files(request.kernel)
        seen = attempts.seen(compare=request.judged)
        return TraceReply(child=done, errors={None: failure.error}, imported_files=files, attempts=seen)
    arguments = [abstract(spec) for spec in request.inputs]
    for target in targets:
        _one_target(request, function, arguments, target, gathered)
    return TraceReply(
        child=done,
        exported=gathered.exported,
        errors=gathered.errors,
        facts=gathered.facts,
        outputs=gathered.outputs,
        declared_params=loaded.params,
        declared_space=loaded.space,
        imported_files=imported_files(request.kernel),
        attempts=attempts.seen(compare=request.judged),
    )


def abstract(spec: ArraySpec) -> jax.ShapeDtypeStruct:
    """Return the abstract array jax traces ``spec`` with."""
    return jax.ShapeDtypeStruct(spec.shape, numpy_dtype(spec.numpy_name))


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the numpy dtype called ``name``, ml_dtypes' included."""
    return np.dtype(getattr(ml_dtypes, name, name))


def canonicalize_paths(roots: tuple[str, ...]) -> None:
    """Keep the folders of ``roots`` and this package's frames out of exported modules, which embed source paths."""
    _exclude_own_frames()
    if roots:
        pattern = "|".join(re.escape(root.rstrip("/") + "/") for root in roots)
        jax.config.update("jax_hlo_source_file_canonicalization_regex", f"^({pattern})")


@cache
def _exclude_own_frames() -> None:
    source_info_util.register_exclusion(str(Path(maxkernel_tools.__file__).parent))


def export_bytes(function: Callable[..., Any], arguments: list[jax.ShapeDtypeStruct]) -> bytes:
    """Export ``function`` for TPU under the device in force and return the serialised module.

    Raises:
        WorkFailure: lowering (phase ``lower``) or serialisation (``export``) failed.
    """
    with phase("lower"):
        exported = export.export(jax.jit(function), platforms=["tpu"])(*arguments)
    with phase("export"):
        return bytes(exported.serialize())


def _one_target(
    request: TraceRequest,
    function: Callable[..., Any],
    arguments: list[jax.ShapeDtypeStruct],
    target: Target,
    gathered: _Gathered,
) -> None:
    key = target if request.targets else None
    with presented_as(target), pretend(target):
        try:
            with phase("trace"):
                traced = jax.jit(function).trace(*arguments)
                leaves = jax.tree.leaves(traced.out_info)
                outputs = tuple(ArraySpec.of(np.dtype(leaf.dtype).name, tuple(leaf.shape)) for leaf in leaves)
        except WorkFailure as failure:
            gathered.errors[key] = failure.error
            return
        if not gathered.facts:
            gathered.outputs = outputs
            gathered.facts = _facts(request, traced)
        if not request.targets:
            return
        try:
            gathered.exported[target] = export_bytes(function, arguments)
        except WorkFailure as failure:
            located = _locate(traced, failure)
            gathered.errors[target] = replace(failure.error, source_frames=located)


def _facts(request: TraceRequest, traced: Any) -> dict[str, Any]:
    """What the jaxpr says; advice, so that a jaxpr the reader does not understand costs the facts and not the trace."""
    try:
        facts = dict(inspecting.jaxpr_facts(traced.jaxpr, CANDIDATE_FILE_NAME))
        if request.is_reference:
            facts["reference_graph"] = inspecting.reference_graph(traced.jaxpr)
        json.dumps(facts)
    except Exception as exception:  # noqa: BLE001 - see above; the text goes into the reply
        return {"unavailable": f"{type(exception).__name__}: {exception}"}
    return facts


def _locate(traced: Any, failure: WorkFailure) -> tuple[Frame, ...]:
    if failure.exception is None:
        return ()
    try:
        return tuple(inspecting.locate_failure(traced.jaxpr, failure.exception))
    except Exception:  # noqa: BLE001 - a line number is worth having, not worth losing the compiler's own words for
        return ()
