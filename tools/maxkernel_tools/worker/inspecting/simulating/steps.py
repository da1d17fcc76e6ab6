"""Runs a body over the grid: windows change blocks, outputs are flushed, what is left in flight at the end is noted."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final

import numpy as np

from maxkernel_tools.worker.inspecting.calls import Call, Operand
from maxkernel_tools.worker.inspecting.grids import starts
from maxkernel_tools.worker.inspecting.simulating.machine import BudgetSpentError, Env, Machine, Step, new_ref
from maxkernel_tools.worker.inspecting.simulating.memory import Observation, Ref
from maxkernel_tools.worker.inspecting.simulating.regions import Box, clip, is_empty

BUDGET: Final = 6_000
"""Equations per call: less than a tenth of a second. A window that may change its block costs as much as a few."""
_WINDOW_COST: Final = 6


@dataclass
class _Window:
    operand: Operand
    ref: Ref
    block: tuple[int, ...] | None = None
    flushed: dict[tuple[int, ...], list[Box]] = field(default_factory=dict[tuple[int, ...], list[Box]])
    was_whole: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])


def simulate(call: Call, kernel_file: str, budget: int = BUDGET) -> list[Observation]:
    """Run a ``pallas_call`` on indices for as many grid steps as the budget allows.

    Steps run in grid order from the first, so that whatever is observed does happen on one core.
    """
    grid = call.static_grid
    if grid is None or 0 in grid:
        return []
    parallel = tuple(axis for axis, kind in enumerate(call.semantics or ()) if kind == "parallel")
    machine = Machine(kernel_file, call.place, parallel, budget)
    windows = [_window(operand, variable) for operand, variable in zip(call.operands, call.body.invars, strict=True)]
    finished = True
    try:
        for coords in product(*(range(extent) for extent in grid)):
            _step(machine, call, windows, coords, grid)
    except BudgetSpentError:
        finished = False
    if finished:
        _finish(machine, call, windows)
    return machine.memory.observations


def _window(operand: Operand, variable: Any) -> _Window:
    ref = new_ref(operand.name, operand.argument, operand.kind, variable.aval)
    if operand.kind == "out" and operand.space not in ("vmem", "smem"):
        ref.initialised = True
    if operand.visits is not None and (operand.visits.indices is None or any(dim.bounded for dim in operand.dims)):
        ref.maybe = True
    return _Window(operand, ref)


def _step(machine: Machine, call: Call, windows: list[_Window], coords: tuple[int, ...], grid: tuple[int, ...]) -> None:
    machine.left -= _WINDOW_COST * len(windows)
    for window in windows:
        _turn(window, coords)
    machine.step = Step({axis: np.int32(index) for axis, index in enumerate(coords)}, grid, coords)
    env: Env = dict(zip(call.body.invars, [window.ref for window in windows], strict=True))
    before = len(machine.memory.observations)
    machine.run(call.body, env)
    _rename_revisits(machine, windows, before)


def _turn(window: _Window, coords: tuple[int, ...]) -> None:
    """Let a window move to the block of this step."""
    over = window.operand.visits
    if over is None or over.indices is None or window.operand.kind not in ("in", "out"):
        return
    block = tuple(int(_at(array, coords)) for array in over.indices)
    if block == window.block:
        return
    if window.operand.kind == "out":
        if window.block is not None:
            _flush(window)
        window.ref.forget()
    window.block = block


def _at(array: Any, coords: tuple[int, ...]) -> Any:
    return array[tuple(index if array.shape[axis] > 1 else 0 for axis, index in enumerate(coords))]


def _flush(window: _Window) -> None:
    """An output block goes back to HBM: note what of it was never written."""
    block = window.block
    if block is None or window.ref.maybe:
        window.flushed.pop(block or (), None)
        return
    left = window.ref.uncovered(_needed(window, block))
    window.flushed[block] = left
    if not left:
        window.was_whole.add(block)


def _needed(window: _Window, block: tuple[int, ...]) -> Box:
    """The part of a window that lies inside the array."""
    dims = window.operand.dims
    box: list[tuple[int, int]] = []
    for start, dim in zip(starts(block, dims), dims, strict=True):
        if not dim.squeezed:
            box.append((max(0, -int(start)), min(dim.size, dim.extent - int(start))))
    if len(box) != len(window.ref.shape):
        return tuple((0, 0) for _ in window.ref.shape)
    return clip(tuple(box), window.ref.shape)


def _rename_revisits(machine: Machine, windows: list[_Window], before: int) -> None:
    """A read of an output window that held this block before is a revisit, not a missing initialisation."""
    observations = machine.memory.observations
    revisited = {w.ref.name for w in windows if w.operand.kind == "out" and w.block in w.flushed}
    for position in range(before, len(observations)):
        seen = observations[position]
        if seen.kind == "uninitialized-read" and seen.operand in revisited:
            observations[position] = Observation(
                "revisited-block", seen.place, seen.operand, seen.argument, {**seen.detail, "read": True}
            )


def _finish(machine: Machine, call: Call, windows: list[_Window]) -> None:
    for window in windows:
        if window.operand.kind != "out" or not window.operand.block:
            continue
        _flush(window)
        lost = {block: left for block, left in window.flushed.items() if left and not is_empty(left[0])}
        if not lost:
            continue
        block, left = next(iter(lost.items()))
        kind = "lost-output" if block in window.was_whole else "unwritten-output"
        machine.memory.observe(
            kind,
            window.ref.first_write or call.function or call.place,
            window.ref,
            block=list(block),
            blocks=len(lost),
            missing=[[int(a), int(b)] for a, b in left[0]],
            never=window.ref.first_write is None,
        )
    for copy in machine.memory.copies:
        ref = copy.destination or copy.source or copy.semaphore
        machine.memory.observe("never-awaited", copy.place, ref)
