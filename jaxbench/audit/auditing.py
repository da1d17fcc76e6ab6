"""Audits tasks: which subjects are examined, in how many processes, and what the answers mean."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Literal

import anyio

from jaxbench.audit.service import AuditService, audit_service
from jaxbench.audit.table import ModeAudit, TaskAudit
from maxkernel_tools.records.tasks import SmallShape, TaskFacts
from maxkernel_tools.tasks import Task, input_specs

SEED: Final = 20_260
"""The audit's draw is fixed, so that its table can be compared; verdicts on kernels use secret seeds."""

AuditMode = Literal["hardened", "classic"]
Report = Callable[[Task, TaskAudit], Awaitable[None]]

_DTYPE: Final = "bf16"  # the widest tolerance, so the mode in which most gets through
_LARGE: Final = 30_000_000  # elements; above, a float32 oracle and fewer substitutes
_ALONE: Final = 200_000_000  # elements; above, one such task at a time, for the sake of memory
_DEADLINE_S: Final = 1800.0


async def audit_tasks(tasks: Sequence[Task], modes: Sequence[AuditMode], jobs: int, report: Report) -> None:
    """Audit ``tasks``, the largest first, in ``jobs`` processes, telling ``report`` about each as it is done.

    Raises:
        MachineryError: a service failed; what was reported stands.
    """
    waiting = sorted(tasks, key=lambda task: -_elements(task.facts, _classic_dims(task.facts)))
    large = anyio.Semaphore(1)

    async def work() -> None:
        async with audit_service() as service:
            while waiting:
                task = waiting.pop(0)
                heavy = "classic" in modes and _elements(task.facts, _classic_dims(task.facts)) > _ALONE
                if heavy:
                    async with large:
                        audit = await _audit(service, task, modes)
                else:
                    audit = await _audit(service, task, modes)
                await report(task, audit)

    async with anyio.create_task_group() as group:
        for _ in range(max(1, min(jobs or os.cpu_count() or 1, len(tasks)))):
            group.start_soon(work)


async def _audit(service: AuditService, task: Task, modes: Sequence[AuditMode]) -> TaskAudit:
    facts = task.facts
    found: dict[str, ModeAudit] = {}
    if "hardened" in modes:
        found["hardened"] = await _hardened(service, task)
    if "classic" in modes:
        found |= await _classic(service, task)
    return TaskAudit(
        task=facts.id,
        reference_sha256=task.reference.sha256,
        labels=tuple(label.name for label in facts.labels),
        **found,
    )


async def _hardened(service: AuditService, task: Task) -> ModeAudit:
    """Examine the family of small shapes: a solution passes where it passes at every member."""
    shapes = _family(task.facts)
    first = (await service.ask(_request(task, shapes[0].dims, "hardened"), _DEADLINE_S))["examination"]
    passing = _passing(first["tried"], "passes")
    for shape in shapes[1:]:
        if not passing:
            break
        answer = await service.ask({**_request(task, shape.dims, "hardened"), "only": passing}, _DEADLINE_S)
        reply = answer["examination"]
        tried = {entry["solution"] for entry in reply["tried"]}
        held = _passing(reply["tried"], "passes")
        passing = [name for name in passing if name in held or name not in tried]
    return _mode_audit(first, shapes[0].dims, passing)


async def _classic(service: AuditService, task: Task) -> dict[str, ModeAudit]:
    """Examine the published versions at full reduction dims: the fixed one, and the first where it differs."""
    dims = _classic_dims(task.facts)
    differs = any("original" in entry.classic for entry in task.facts.inputs)
    reply = await service.ask({**_request(task, dims, "classic"), "original": differs}, _DEADLINE_S)
    found = {"classic": reply["examination"], "original": reply["original"]}
    return {
        name: _mode_audit(part, dims, _passing(part["tried"], "passes"))
        for name, part in found.items()
        if part is not None
    }


def _request(task: Task, dims: dict[str, int], mode: str) -> dict[str, Any]:
    large = _elements(task.facts, dims) > _LARGE
    return {
        "folder": str(task.folder),
        "facts": task.facts.model_dump(mode="json"),
        "dims": dims,
        "dtype": _DTYPE if _DTYPE in task.facts.dtypes else task.facts.dtype,
        "mode": mode,
        "seed": SEED,
        "wide": "f32" if large else "f64",
        "substitutes": "zeros" if large else "all",
    }


def _mode_audit(reply: dict[str, Any], dims: dict[str, int], passes: Iterable[str]) -> ModeAudit:
    return ModeAudit(
        dims=dims,
        dtype=_DTYPE,
        tried=tuple(entry["solution"] for entry in reply["tried"]),
        passes=tuple(passes),
        passes_flat=tuple(_passing(reply["tried"], "passes_flat")),
        honest=reply["honest"]["passes"],
        honest_flat=reply["honest"]["passes_flat"],
    )


def _passing(tried: Iterable[dict[str, Any]], key: str) -> list[str]:
    return [entry["solution"] for entry in tried if entry[key]]


def examined_dims(facts: TaskFacts, mode: AuditMode) -> dict[str, int]:
    """Return the dims a mode's audit is recorded with: the first of the small shapes, or the classic cut."""
    return _classic_dims(facts) if mode == "classic" else _family(facts)[0].dims


def _family(facts: TaskFacts) -> list[SmallShape]:
    return sorted(facts.small_shapes, key=lambda shape: ("aligned", "ragged", "tiny").index(shape.kind))


def _classic_dims(facts: TaskFacts) -> dict[str, int]:
    return {**facts.dims, **facts.classic_dims}


def _elements(facts: TaskFacts, dims: dict[str, int]) -> int:
    return sum(spec.size for spec in input_specs(facts, dims))
