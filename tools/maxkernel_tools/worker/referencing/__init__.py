"""Draws inputs from a secret seed and computes what is right, in a process no candidate enters.

Owns the order of things: draw in float32, cast, compute at the task's dtype as jax does by default, then compute
again from the very same rounded inputs in float64 (or float32). What error that allows is decided in
``maxkernel_tools.checking``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import jax
import ml_dtypes
import numpy as np

from maxkernel_tools.records.arrays import DTYPES
from maxkernel_tools.records.kernels import ENTRY_NAMES
from maxkernel_tools.runtime import ChildReport, RawError, ReferenceReply, ReferenceRequest
from maxkernel_tools.worker.failures import WorkFailure, phase
from maxkernel_tools.worker.loading import load_module
from maxkernel_tools.worker.referencing.drawing import draw, is_floating, scaled
from maxkernel_tools.worker.referencing.examining import examine

REFERENCE_FILE_NAME = "reference.py"

Array = np.ndarray[Any, Any]


def reference(request: ReferenceRequest) -> ReferenceReply:
    """Return inputs, the reference's outputs and the oracle's; a failure of the reference is in the reply."""
    done = ChildReport(ending="completed")
    if request.examine:
        modules = [request.overrides[index].tobytes() for index in sorted(request.overrides)]
        return ReferenceReply(child=done, examined=tuple(examine(module) for module in modules))
    inputs: tuple[Array, ...] = ()
    try:
        names = load_module(request.source, REFERENCE_FILE_NAME).__dict__
        with phase("reference"):
            inputs = _inputs(request, names)
        if request.only_inputs:
            return ReferenceReply(child=done, inputs=inputs)
        entry = _entry(names)
        with phase("reference"):
            outputs, tree = _compute(entry, inputs)
        with phase("reference"):
            oracle = _oracle(request, entry, inputs)
    except WorkFailure as failure:
        return ReferenceReply(child=done, inputs=inputs, error=failure.error)
    return ReferenceReply(child=done, inputs=inputs, outputs=outputs, oracle=oracle, tree=tree)


def _inputs(request: ReferenceRequest, names: dict[str, Any]) -> tuple[Array, ...]:
    rng = np.random.default_rng(request.seed)
    dtype = np.dtype(getattr(ml_dtypes, DTYPES[request.dtype][0], DTYPES[request.dtype][0]))
    hardened, classic = names.get("create_inputs"), names.get("create_classic_inputs")
    if request.mode == "classic" and callable(classic) and request.dims:
        drawn = cast("tuple[Any, ...]", classic(dict(request.dims), dtype))
    elif callable(hardened) and request.dims:
        drawn = cast("tuple[Any, ...]", hardened(rng, dict(request.dims), dtype))
    else:
        drawn = draw(rng, request.specs)
    arrays = [np.asarray(value) for value in drawn]
    if request.scale != 1.0:
        arrays = [scaled(array, request.scale) for array in arrays]
    for index, array in request.overrides.items():
        arrays[index] = array
    return tuple(arrays)


def _entry(names: dict[str, Any]) -> Callable[..., Any]:
    for name in ENTRY_NAMES:
        if callable(names.get(name)):
            return cast("Callable[..., Any]", names[name])
    raise WorkFailure(
        RawError(
            type_name="MissingEntry",
            message=f"The reference defines none of {', '.join(ENTRY_NAMES)}.",
            phase="load",
        )
    )


def _compute(entry: Callable[..., Any], inputs: tuple[Array, ...]) -> tuple[tuple[Array, ...], str]:
    result = jax.jit(entry)(*inputs)
    leaves, tree = jax.tree.flatten(result)
    return tuple(np.asarray(leaf) for leaf in leaves), str(tree)


def _oracle(request: ReferenceRequest, entry: Callable[..., Any], inputs: tuple[Array, ...]) -> tuple[Array, ...]:
    if request.oracle == "none":
        return ()
    wide = np.float64 if request.oracle == "f64" else np.float32
    lifted = tuple(array.astype(wide) if is_floating(array.dtype) else array for array in inputs)
    # 64-bit types only here: at the task's dtype they would change what a default-typed constant is
    before = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]
    jax.config.update("jax_enable_x64", request.oracle == "f64" or before)
    try:
        with jax.default_matmul_precision("highest"):
            leaves = jax.tree.leaves(jax.jit(entry)(*lifted))
            return tuple(np.asarray(leaf) for leaf in leaves)
    finally:
        jax.config.update("jax_enable_x64", before)


__all__ = ["REFERENCE_FILE_NAME", "reference"]
