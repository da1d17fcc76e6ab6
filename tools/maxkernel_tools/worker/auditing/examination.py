"""One task, one mode, one set of dims: which trivial solutions the comparison lets pass, and whether an honest one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import ml_dtypes
import numpy as np

from maxkernel_tools.checking import allowed_error, compare
from maxkernel_tools.checking.tolerance import AllowedError, is_floating
from maxkernel_tools.records.arrays import DTYPES
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.tasks import TaskFacts
from maxkernel_tools.worker.auditing.solutions import named_shortcuts, substituted_inputs, trivial_outputs

Array = np.ndarray[Any, Any]
Outputs = tuple[Array, ...]

_ZEROS = "zeros in the original version"
"""How a task's facts end where the first published version had zeros."""


class Subject(Record):
    """What is to be examined.

    Attributes:
        folder: the task's folder.
        mode: ``hardened``, or ``classic``: the fixed published version.
        original: in classic mode, examine the first published version as well.
        seed: of the hardened draw; another draw is made from the next one.
        wide: precision of the oracle.
        only: examine these solutions only; empty for all.
        substitutes: which inputs the reference is run on again: ``all`` kinds, ``zeros`` and assumed ones (for large
            tasks), or ``none``.
    """

    folder: str
    facts: TaskFacts
    dims: dict[str, int]
    dtype: str
    mode: Literal["hardened", "classic"]
    original: bool = False
    seed: int = 0
    wide: Literal["f64", "f32"] = "f64"
    only: tuple[str, ...] = ()
    substitutes: Literal["all", "zeros", "none"] = "all"


class Tried(Record):
    """One solution. ``passes`` by the grader's comparison, ``passes_flat`` by the flat published tolerance."""

    solution: str
    passes: bool
    passes_flat: bool
    bad_fraction: float = 1.0


class Examination(Record):
    """What came of it. ``honest`` is a version that keeps f32 inside; it must pass."""

    tried: tuple[Tried, ...]
    honest: Tried
    resolution: float
    wall_ms: int


class Answer(Record):
    """What a request is answered with. ``original`` is there in classic mode, where the first version was asked for."""

    examination: Examination
    original: Examination | None = None


def answer(subject: Subject) -> Answer:
    """Examine a task; in classic mode the original version too, from the same draw as far as it is the same."""
    names = _names(Path(subject.folder) / "reference.py")
    workload = jax.jit(names["workload"])
    inputs, other = _draws(subject, names)
    found = _examine(subject, workload, inputs, other)
    if subject.mode == "hardened" or not subject.original:
        return Answer(examination=found)
    first = subject.model_copy(update={"substitutes": "none"})
    return Answer(examination=found, original=_examine(first, workload, _original(subject, names, inputs), None))


def _examine(subject: Subject, workload: Callable[..., Any], inputs: Outputs, other: Outputs | None) -> Examination:
    """Compute what is right for ``inputs``, and try everything that is not."""
    started = time.monotonic()
    placed = tuple(jax.device_put(array) for array in inputs)  # once: a copy for each trial would cost more than it
    right = _run(workload, placed)
    oracle = _widened(workload, placed, subject.wide)
    judge = _Judge(subject, right, oracle)
    stale = None if other is None else _run(workload, other)
    tried = [judge.judge(name, outputs) for name, outputs in trivial_outputs(right, stale) if judge.wants(name)]
    if subject.substitutes != "none":
        for name, changes in substituted_inputs(subject.facts, inputs, other):
            costly = subject.substitutes == "zeros" and name.endswith("=other")
            if judge.wants(name) and not costly:
                changed = tuple(changes.get(index, array) for index, array in enumerate(placed))
                tried.append(judge.judge(name, _run(workload, changed)))
    tried += [judge.judge(name, outputs) for name, outputs in _shortcuts(subject, inputs, right) if judge.wants(name)]
    inside = _widened(workload, placed, "f32") if subject.wide == "f64" else oracle
    honest = tuple(value.astype(like.dtype) for value, like in zip(inside, right, strict=True))
    return Examination(
        tried=tuple(tried),
        honest=judge.judge("honest-f32", honest),
        resolution=max(allowed.resolution for allowed in judge.allowed),
        wall_ms=round((time.monotonic() - started) * 1000),
    )


class _Judge:
    """Holds the right answers of one draw, and what may differ from them."""

    def __init__(self, subject: Subject, right: Outputs, oracle: Outputs) -> None:
        self._subject = subject
        self._right = right
        self._oracle = oracle
        self._policy = subject.facts.tolerance
        reduction = int(np.prod([subject.dims[name] for name in self._policy.reduction_dims], dtype=np.int64))
        self.allowed: tuple[AllowedError, ...] = tuple(
            allowed_error(exact, own, self._policy, reduction=reduction)
            for exact, own in zip(oracle, right, strict=True)
        )

    def wants(self, name: str) -> bool:
        return not self._subject.only or name in self._subject.only

    def judge(self, name: str, outputs: Outputs) -> Tried:
        shaped = tuple(
            np.asarray(array).astype(like.dtype).reshape(like.shape)
            for array, like in zip(outputs, self._right, strict=True)
        )
        judged = [
            compare(got, own, exact, self._policy, allowed=allowed)
            for got, own, exact, allowed in zip(shaped, self._right, self._oracle, self.allowed, strict=True)
        ]
        return Tried(
            solution=name,
            passes=all(comparison.passed for comparison in judged),
            passes_flat=all(self._flat(got, own) for got, own in zip(shaped, self._right, strict=True)),
            bad_fraction=max(comparison.bad_fraction or 0.0 for comparison in judged),
        )

    def _flat(self, got: Array, own: Array) -> bool:
        policy = self._policy
        return bool(
            np.allclose(
                got.astype(np.float32), own.astype(np.float32), rtol=policy.published_rtol, atol=policy.published_atol
            )
        )


def _names(path: Path) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # noqa: S102 - the project's own tasks
    return names


def _draws(subject: Subject, names: dict[str, Any]) -> tuple[Outputs, Outputs | None]:
    dtype, dims = _dtype(subject), dict(subject.dims)
    if subject.mode == "classic":
        return tuple(names["create_classic_inputs"](dims, dtype)), None
    one, two = (
        tuple(names["create_inputs"](np.random.default_rng(subject.seed + step), dims, dtype)) for step in (0, 1)
    )
    return one, two


def _dtype(subject: Subject) -> np.dtype[Any]:
    long = DTYPES[subject.dtype][0]
    return np.dtype(getattr(ml_dtypes, long, long))


def _original(subject: Subject, names: dict[str, Any], inputs: Outputs) -> Outputs:
    """Return the inputs of the first published version.

    Where the task says that version differs by zeros only, zeros are put into the draw at hand: drawing is most of the
    cost.
    """
    said = ["original" in entry.classic for entry in subject.facts.inputs]
    zeros = [entry.classic.endswith(_ZEROS) for entry in subject.facts.inputs]
    if said == zeros:
        return tuple(np.zeros_like(array) if zero else array for zero, array in zip(zeros, inputs, strict=True))
    return tuple(names["create_classic_inputs"](dict(subject.dims), _dtype(subject), original=True))


def _run(workload: Callable[..., Any], inputs: Sequence[Any]) -> Outputs:
    return tuple(np.asarray(leaf) for leaf in jax.tree.leaves(workload(*inputs)))


def _widened(workload: Callable[..., Any], inputs: Sequence[Any], wide: Literal["f64", "f32"]) -> Outputs:
    """Run in a wider precision; inputs are widened inside the program, so that large ones are never held twice."""
    jax.config.update("jax_enable_x64", wide == "f64")
    dtype = DTYPES[wide][0]

    def widened(*arrays: Any) -> Any:
        return workload(*(array.astype(dtype) if is_floating(array.dtype) else array for array in arrays))

    try:
        with jax.default_matmul_precision("highest"):
            return _run(jax.jit(widened), inputs)
    finally:
        jax.config.update("jax_enable_x64", False)


def _shortcuts(subject: Subject, inputs: Outputs, right: Outputs) -> Iterator[tuple[str, Outputs]]:
    path = Path(subject.folder) / "shortcuts.py"
    if path.is_file():
        lifted = tuple(array.astype(np.float32) if is_floating(array.dtype) else array for array in inputs)
        for name, outputs in named_shortcuts(_names(path), lifted):
            yield name, tuple(np.asarray(value).reshape(like.shape) for value, like in zip(outputs, right, strict=True))
