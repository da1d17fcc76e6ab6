"""Watch the TPU interpreter at work: races, reads of unwritten memory, accesses out of bounds, starving semaphores.

The interpreter reports most of this by printing or not at all, and under names that differ between jax versions. This
module is the only one that touches its insides. It runs in the candidate's process: what it sees explains a failure,
and that it saw nothing acquits nobody.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from jax._src import dispatch
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax._src.pallas.mosaic.interpret import race_detection_state, shared_memory

from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import Observation
from maxkernel_tools.worker.devices import pretend
from maxkernel_tools.worker.interpreting.anatomy import KernelAnatomy, kernel_lines

_FIRST_BUFFER = 100  # ids the interpreter hands out first
_FIRST_SEMAPHORE = 2000
_FILE_LINE = re.compile(r"kernel\.py:(\d+)")
_BUFFER = re.compile(r"of \('(\w+)', (\d+),")
_KEPT = 40
_STARVED_S = 0.35
_STARVED_PARTLY_S = 2.0


@dataclass
class _Wait:
    semaphore: Any
    core: int
    value: int
    lines: tuple[int, ...]
    since: float


@dataclass
class Watcher:
    """Collects observations of one interpretation.

    Attributes:
        anatomy: the kernel being interpreted, for names; set when its interpretation starts.
    """

    anatomy: KernelAnatomy | None = None
    found: dict[tuple[str, str, tuple[int, ...]], Observation] = field(
        default_factory=dict[tuple[str, str, tuple[int, ...]], Observation]
    )
    races: list[str] = field(default_factory=list[str])
    waits: dict[int, _Wait] = field(default_factory=dict[int, _Wait])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def clear(self) -> None:
        """Forget what was seen."""
        with self.lock:
            self.found.clear()
            self.races.clear()

    def observations(self) -> tuple[Observation, ...]:
        """Everything seen, in order of first sight."""
        with self.lock:
            return tuple(self.found.values())

    def add(
        self, kind: str, message: str, lines: tuple[int, ...], operand: str, *, between_cores: bool = False
    ) -> None:
        """Note one sight; the same one again is counted."""
        key = (kind, operand, lines)
        with self.lock:
            old = self.found.get(key)
            if old is None and len(self.found) >= _KEPT:
                return
            count = old.count + 1 if old else 1
            text = old.message if old else message
            self.found[key] = Observation(kind, text, lines, operand, between_cores, count)

    def race(self, text: str) -> None:
        """Take one report of the race detector."""
        cleaned = "\n".join(line for line in text.strip().splitlines() if not line.strip().startswith("clock:"))
        sides = re.findall(r"from \(?(\d+), (\d+)\)?,?", cleaned)
        # a copy appears as a device of its own, numbered from 100
        cores = [side for side in sides if int(side[0]) < _FIRST_BUFFER]
        lines = tuple(dict.fromkeys(int(number) for number in _FILE_LINE.findall(cleaned)))
        buffer = _BUFFER.search(cleaned)
        operand = self.buffer_name(int(buffer.group(2))) if buffer else ""
        with self.lock:
            if len(self.races) < _KEPT:
                self.races.append(cleaned)
        between = len(cores) == 2 and cores[0] != cores[1]
        self.add("race", f"unordered accesses to {operand or 'one buffer'}", lines, operand, between_cores=between)

    def buffer_name(self, buffer_id: int) -> str:
        """Return the kernel argument a buffer id belongs to, by the interpreter's order of allocation."""
        if self.anatomy is None:
            return ""
        operands = self.anatomy.operands
        inputs = [operand for operand in operands if operand["kind"] == "in"]
        outputs = [operand for operand in operands if operand["kind"] == "out"]
        aliased = {out for _, out in self.anatomy.aliases}
        order = [operand["name"] for operand in inputs]
        order += [operand["name"] for index, operand in enumerate(outputs) if index not in aliased]
        order += [operand["name"] for operand in operands if operand["kind"] == "prefetch"]
        rest = [operand for operand in operands if operand["kind"] != "prefetch"]
        order += [operand["name"] for operand in rest if operand["space"] in ("vmem", "smem")]
        index = buffer_id - _FIRST_BUFFER
        return order[index] if 0 <= index < len(order) else ""

    def semaphore_name(self, semaphore_id: int) -> str:
        """Return ``sem[1]`` for a semaphore id, or its number where it is none of the kernel's arguments."""
        position = semaphore_id - _FIRST_SEMAPHORE
        for operand in self.anatomy.operands if self.anatomy else ():
            if operand["space"] != "semaphore":
                continue
            size = int(np.prod(operand["shape"], dtype=np.int64)) if operand["shape"] else 1
            if position < size:
                index = np.unravel_index(position, operand["shape"]) if operand["shape"] else ()
                return operand["name"] + (f"[{', '.join(str(int(i)) for i in index)}]" if index else "")
            position -= size
        return f"semaphore {semaphore_id}"

    def overhangs(self, operand: str) -> bool:
        """Whether the last block of ``operand`` reaches past its array."""
        known = self.anatomy.operands if self.anatomy else []
        return any(item["name"] == operand and item["kind"] == "in" and item["overhangs"] for item in known)


class _RacePrinter:
    """Stands in for ``print``, a logger and the logging module inside the race detector."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def __call__(self, *parts: object) -> None:
        self._watcher.race(" ".join(str(part) for part in parts))

    def warning(self, message: object, *_: object) -> None:
        self._watcher.race(str(message))


@contextlib.contextmanager
def watching(watcher: Watcher, anatomies: list[KernelAnatomy], target: Target) -> Generator[None]:
    """Send what the interpreter sees to ``watcher`` while a kernel is lowered and run.

    Args:
        watcher: who is told.
        target: the device whose tiling pads buffers.
        anatomies: kernels in program order; the interpreter meets them in that order.
    """
    printer = _RacePrinter(watcher)
    patches: list[tuple[Any, str, Any]] = [
        (race_detection_state, "print", printer),
        (race_detection_state, "logger", printer),
        (race_detection_state, "logging", printer),
        (interpreter, "print", functools.partial(_printed, watcher)),
        (interpreter, "interpret_pallas_call", _naming(watcher, interpreter.interpret_pallas_call, anatomies)),
        (interpreter, "get", _observed(watcher, interpreter.get, "read")),
        (interpreter, "store", _observed(watcher, interpreter.store, "write")),
        (interpreter, "swap", _observed(watcher, interpreter.swap, "write")),
        (interpreter, "_get_padded_shape", _on_device(target, interpreter._get_padded_shape)),
        (interpreter, "_check_for_revisiting", _revisiting(watcher, interpreter._check_for_revisiting)),
        (shared_memory.Semaphore, "wait", _waiting(watcher, shared_memory.Semaphore.wait)),
    ]
    missing = object()
    saved = [(owner, name, owner.__dict__.get(name, missing)) for owner, name, _ in patches]
    stop = threading.Event()
    guard = threading.Thread(target=_break_deadlocks, args=(watcher, stop), daemon=True)
    for owner, name, value in patches:
        setattr(owner, name, value)
    guard.start()
    try:
        yield
    finally:
        stop.set()
        guard.join(timeout=2.0)
        for owner, name, value in saved:
            if value is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


def skip_gpu_interpreter() -> None:
    """Keep jax from importing its GPU interpreter at every lowering, which takes half a second to fail."""
    for name in ("", ".interpret_pallas_call"):  # the package may be there already, what is in it not
        sys.modules.setdefault(f"jax._src.pallas.mosaic_gpu.interpret{name}", cast("Any", None))


def reset_interpreter() -> None:
    """Forget the simulated memory of a failed interpretation, and the failed effects every later call would wait on."""
    interpreter.reset_tpu_interpret_mode_state()
    dispatch.runtime_tokens.clear()


def _printed(watcher: Watcher, *parts: object) -> None:
    text = " ".join(str(part) for part in parts)
    number = re.search(r"Semaphore (\d+)", text)
    if number:
        name = watcher.semaphore_name(int(number.group(1)))
        watcher.add("semaphore-left", f"{name} is not back at zero when the kernel ends", (), name)


def _naming(watcher: Watcher, original: Callable[..., Any], anatomies: list[KernelAnatomy]) -> Callable[..., Any]:
    """Wrap the interpretation of one kernel call so that the watcher knows which one runs."""
    remaining = list(anatomies)

    @functools.wraps(original)
    def named(*args: Any, **kwargs: Any) -> Any:
        anatomy = remaining.pop(0) if remaining else None
        initialize = interpreter._initialize_shared_memory

        @functools.wraps(initialize)
        def announced(*call_args: Any, **call_kwargs: Any) -> Any:
            watcher.anatomy = anatomy
            return initialize(*call_args, **call_kwargs)

        interpreter._initialize_shared_memory = announced
        try:
            return original(*args, **kwargs)
        finally:
            interpreter._initialize_shared_memory = initialize

    return named


def _on_device(target: Target, original: Callable[..., Any]) -> Callable[..., Any]:
    # some jax versions ask for the padding in a callback's thread, where the abstract device is not set
    @functools.wraps(original)
    def padded(*args: Any, **kwargs: Any) -> Any:
        with pretend(target):
            return original(*args, **kwargs)

    return padded


def _observed(watcher: Watcher, original: Callable[..., Any], access: str) -> Callable[..., Any]:
    """Wrap a memory access so that reads of unwritten memory and accesses out of bounds are noted with their line."""

    def wrap(inner: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(inner)
        def observed(*args: Any, **kwargs: Any) -> Any:
            try:
                result = inner(*args, **kwargs)
            except (IndexError, ValueError) as error:
                _note_bounds(watcher, access, error, args, kwargs)
                raise
            if access == "read" and kwargs.get("source_info") is not None:
                _note_unwritten(watcher, result[1], args, kwargs)
            return result

        return observed

    outer = wrap(original)
    # copies bypass the interpreter's own wrapper through this attribute
    outer.__wrapped__ = wrap(original.__wrapped__)  # type: ignore[attr-defined]
    return outer


def _note_bounds(watcher: Watcher, access: str, error: Exception, args: Any, kwargs: Any) -> None:
    text = str(error)
    if not text.startswith("Out-of-bounds"):
        return
    operand = kwargs.get("input_name") or kwargs.get("output_name") or watcher.buffer_name(int(args[4]))
    lines = kernel_lines(kwargs.get("source_info"))
    if "block index" in text:
        kind = "block-out-of-bounds"
    else:
        kind = "out-of-bounds-read" if access == "read" else "out-of-bounds-write"
    watcher.add(kind, text, lines, str(operand))


def _note_unwritten(watcher: Watcher, value: Any, args: Any, kwargs: Any) -> None:
    array = np.asarray(value)
    kind = array.dtype.kind
    if kind in "iu":
        unwritten = bool(array.size) and bool((array == np.iinfo(array.dtype).max).any())
    else:
        unwritten = kind != "b" and bool(np.isnan(array).any())
    if unwritten:
        operand = watcher.buffer_name(int(args[4]))
        seen = "overhang-read" if watcher.overhangs(operand) else "uninitialized-read"
        watcher.add(
            seen,
            f"{operand or 'a buffer'} is read where nothing was written",
            kernel_lines(kwargs["source_info"]),
            operand,
        )


def _revisiting(watcher: Watcher, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except RuntimeError as error:
            if "Revisited block" in str(error):
                line = watcher.anatomy.line if watcher.anatomy else None
                watcher.add("revisited-output", str(error), (line,) if line else (), "")
            raise

    return checked


def _waiting(watcher: Watcher, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wait(self: Any, value: Any, global_core_id: Any, **kwargs: Any) -> Any:
        info = kwargs.get("logging_info")
        lines = kernel_lines(getattr(info, "source_info", None))
        me = threading.get_ident()
        watcher.waits[me] = _Wait(self, int(global_core_id), int(value), lines, time.monotonic())
        try:
            return original(self, value, global_core_id, **kwargs)
        finally:
            watcher.waits.pop(me, None)

    return wait


def _break_deadlocks(watcher: Watcher, stop: threading.Event) -> None:
    """Fail the interpretation once every core waits on a semaphore that nobody is going to signal."""
    while not stop.wait(0.1):
        waits = list(watcher.waits.values())
        memory = interpreter._shared_memory
        if memory is None or not waits:
            continue
        starved = [wait for wait in waits if not wait.semaphore.tasks[wait.core] and not _satisfied(wait)]
        if len(starved) != len(waits):
            continue
        patience = _STARVED_S if len(waits) >= memory.num_cores else _STARVED_PARTLY_S
        if time.monotonic() - max(wait.since for wait in waits) < patience:
            continue
        names: list[str] = []
        for wait in starved:
            name = watcher.semaphore_name(wait.semaphore.id)
            names.append(name)
            lines = wait.lines or _wait_lines(watcher, name)
            count = int(wait.semaphore.count_by_core[wait.core])
            watcher.add(
                "deadlock",
                f"{name} stands at {count}, {wait.value} is waited for, and nothing is left that signals it",
                lines,
                name,
            )
        _fail(memory, RuntimeError("Deadlock: " + ", ".join(names) + " is never signalled."))
        return


def _satisfied(wait: _Wait) -> bool:
    return int(wait.semaphore.count_by_core[wait.core]) >= wait.value


def _wait_lines(watcher: Watcher, name: str) -> tuple[int, ...]:
    base = name.split("[", maxsplit=1)[0]
    waits = watcher.anatomy.waits if watcher.anatomy else []
    return tuple(line for line, semaphore in waits if line and semaphore == base)


def _fail(memory: Any, error: Exception) -> None:
    with memory.lock:
        if memory._failure is None:
            memory._failure = error
