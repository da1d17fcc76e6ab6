"""Handler of ``diff_traces``: two captures, or two profiles in the store, to one answer with its tables and view."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from maxkernel_lab.admission import Admission
from maxkernel_lab.registry.arguments import DiffArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.diff_process import compared_files
from maxkernel_lab.registry.paths import resolve_inside
from maxkernel_lab.store import RunArtifacts, RunRow, StageRow
from maxkernel_lab.store.identity import call_run_id
from maxkernel_tools.context import Progress
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.diffs import DiffResult

RUN: Final = re.compile(r"r-[0-9a-f]{12}(?:@[\w ]+)?(?:~\d{1,4})?")
"""A stored profile: a run, one of its targets (``@v5e``), an earlier one (``~1`` is the one before the newest)."""

ARTIFACTS: Final = {
    "view.html": ("diff.html", "diff-view"),
    "rows.csv": ("diff.csv", "diff-table"),
    "rows.json": ("diff.json", "diff-table"),
}
_MEMORY_BYTES: Final = 4 << 30


async def diff_traces(services: Services, arguments: DiffArguments, progress: Progress) -> DiffResult:
    """Handle ``diff_traces``."""
    stored = [RUN.fullmatch(text.strip()) is not None for text in (arguments.baseline, arguments.candidate)]
    if any(stored):
        if not all(stored):
            raise MisuseError(
                "One side is a run of this lab, the other a capture.",
                allowed="two runs (estimates of the schedule model), or two captures (measured on a device).",
                action="Compare like with like: an estimate is no measurement.",
            )
        from maxkernel_lab.registry.diff_runs import diff_runs  # noqa: PLC0415 - only where runs are compared

        return await diff_runs(services, arguments)
    return await _diff_captures(services, arguments, progress)


async def _diff_captures(services: Services, arguments: DiffArguments, progress: Progress) -> DiffResult:
    await progress(0, 1, "finding the captures")
    baseline = await anyio.to_thread.run_sync(_capture, services, arguments.baseline, "baseline")
    candidate = await anyio.to_thread.run_sync(_capture, services, arguments.candidate, "candidate")
    core = None if arguments.core < 0 else arguments.core
    request: Mapping[str, Any] = {
        "baseline": str(baseline),
        "candidate": str(candidate),
        "core": core,
        "candidate_core": core if arguments.candidate_core < 0 else arguments.candidate_core,
        "target": arguments.target,
    }
    settings = services.settings
    pool_bytes = settings.pool_memory_mb << 20
    memory_bytes = min(_MEMORY_BYTES, pool_bytes)
    admission = Admission(services.home.slots, workers=settings.pool_workers, memory_bytes=pool_bytes)
    async with (
        admission.admit(memory_bytes),
        compared_files(request, services.home, memory_bytes, progress) as folder,
    ):
        text = await anyio.to_thread.run_sync(_read, folder / "result.json")
        return await keep_diff(services, DiffResult.model_validate_json(text), request, folder)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _capture(services: Services, text: str, side: str) -> Path:
    """Return the capture a caller named, inside the allowed roots after every link is followed."""
    from maxkernel_tools.traces import find_capture  # noqa: PLC0415 - protobuf is imported when first needed

    if not text.strip():
        raise MisuseError(
            f"The {side} is empty.", allowed="a capture, a folder that holds one, or a run id.", action="Name one."
        )
    path = resolve_inside(text, services.settings, what=side)
    found = find_capture(path)
    return resolve_inside(str(found), services.settings, what=side)


async def keep_diff(services: Services, result: DiffResult, request: Mapping[str, Any], folder: Path) -> DiffResult:
    """Keep the answer as a run of its own, named after what was compared, with its tables and view."""
    key = "\x00".join((result.identity or repr(sorted(request.items())), str(result.core), str(result.candidate_core)))
    run_id = call_run_id("diff_traces", key)
    row = RunRow(
        run_id=run_id,
        label=f"{result.baseline} to {result.candidate}"[:200],
        kind="diff",
        config={name: value for name, value in request.items() if value is not None},
    )
    await anyio.to_thread.run_sync(services.store.ensure_run, row)
    sink = RunArtifacts(services.store, run_id)
    for file, (name, kind) in ARTIFACTS.items():
        await sink.put(name, kind, folder / file)
    whole = result.model_copy(update={"run_id": run_id, "artifacts": tuple(sink.kept)})
    stage = StageRow(
        run_id=run_id,
        stage="diff",
        ok=result.ok,
        summary=result.summary,
        result=whole.model_dump(mode="json"),
        time_source=result.time_source,
    )
    await anyio.to_thread.run_sync(services.store.add_stage, stage)
    return whole
