"""Handlers of ``get_run`` and ``list_runs``: what the store knows."""

from __future__ import annotations

import difflib

import anyio.to_thread

from maxkernel_lab.registry.arguments import GetRunArguments, ListRunsArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.store import RunRow
from maxkernel_tools.context import Progress
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.jobs import RunListResult, RunResult, StageRecord


async def get_run(services: Services, arguments: GetRunArguments, progress: Progress) -> RunResult:  # noqa: ARG001
    """Handle ``get_run``."""
    return await anyio.to_thread.run_sync(read_run, services, arguments.run_id)


def read_run(services: Services, run_id: str) -> RunResult:
    """Return everything the store knows about a run.

    Raises:
        MisuseError: there is no such run.
    """
    row = known_run(services, run_id)
    stages = services.store.stages(run_id)
    last = stages[-1] if stages else None
    words = "; ".join(f"{stage.stage}: {stage.summary}" for stage in _newest(stages))
    return RunResult(
        ok=last.ok if last else None,
        run_id=run_id,
        summary=f"{row.label}: {words or 'nothing done yet'}"[:600],
        artifacts=services.store.artifacts(run_id),
        kind=row.kind,
        created=row.created,
        task=row.task,
        inputs=row.inputs,
        params=dict(row.params),
        config=dict(row.config),
        stages=tuple(_newest(stages)),
    )


def known_run(services: Services, run_id: str) -> RunRow:
    """Return a run's record.

    Raises:
        MisuseError: there is no such run.
    """
    row = services.store.run(run_id)
    if row is None:
        recent = [line.run_id for line in services.store.list_runs(task=None, kind=None, verdict=None, limit=100)[0]]
        close = difflib.get_close_matches(run_id, recent, n=1, cutoff=0.7)
        raise MisuseError(
            f"Unknown run {run_id!r}.",
            allowed="the run_id of a result" + (f"; recent: {', '.join(recent[:5])}." if recent else "; none yet."),
            action=f"Did you mean {close[0]}?" if close else "See list_runs.",
        )
    return row


def _newest(stages: tuple[StageRecord, ...]) -> list[StageRecord]:
    """Return the newest record of each kind of stage, in the order they first happened."""
    newest = {stage.stage: stage for stage in stages}
    return list(newest.values())


async def list_runs(services: Services, arguments: ListRunsArguments, progress: Progress) -> RunListResult:  # noqa: ARG001
    """Handle ``list_runs``."""
    runs, total = await anyio.to_thread.run_sync(
        lambda: services.store.list_runs(
            task=arguments.task or None,
            kind=arguments.kind or None,
            verdict=arguments.verdict or None,
            limit=arguments.limit,
        )
    )
    shown = f" ({len(runs)} newest shown)" if len(runs) < total else ""
    return RunListResult(ok=True, summary=f"{total} runs{shown}.", runs=runs, total=total)
