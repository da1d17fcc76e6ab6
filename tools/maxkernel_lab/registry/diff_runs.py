"""Two profiled runs of the store, compared by the compiler's schedule: other kernels, or another compiler."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio.to_thread

from maxkernel_lab.registry.arguments import MAX_SOURCE, DiffArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.diff_tools import keep_diff
from maxkernel_lab.registry.kernel_tools import SOURCE_ARTIFACT
from maxkernel_lab.registry.run_tools import known_run
from maxkernel_tools.diffing.schedules import SheetSide, diff_schedules
from maxkernel_tools.diffing.tables import rows_csv, rows_json
from maxkernel_tools.diffing.viewing import schedule_page
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.diffs import DiffResult
from maxkernel_tools.records.targets import parse_target

SHEET_KIND: Final = "schedule-sheet"
_RUN: Final = re.compile(r"(r-[0-9a-f]{12})(?:@([\w ]+))?(?:~(\d+))?")


async def diff_runs(services: Services, arguments: DiffArguments) -> DiffResult:
    """Compare two stored profiles.

    Raises:
        MisuseError: a run is unknown, or has no such profile.
    """
    baseline = await anyio.to_thread.run_sync(_side, services, arguments.baseline.strip(), arguments.target)
    candidate = await anyio.to_thread.run_sync(_side, services, arguments.candidate.strip(), arguments.target)
    result, rows = diff_schedules(baseline, candidate)
    request = {"baseline": baseline.name, "candidate": candidate.name}
    with tempfile.TemporaryDirectory(prefix="diff-", dir=services.home.cache) as name:
        folder = Path(name)
        files = {
            "rows.csv": rows_csv(rows),
            "rows.json": rows_json(result, rows),
            "view.html": schedule_page(result, rows),
        }
        for file, text in files.items():
            await anyio.to_thread.run_sync(_write, folder / file, text)
        return await keep_diff(services, result, request, folder)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _side(services: Services, text: str, target: str) -> SheetSide:
    match = _RUN.fullmatch(text)
    if match is None:
        raise MisuseError(f"{text!r} is no run.", allowed="r-…, r-…@v5e or r-…~1.", action="See list_runs.")
    run_id, named, back = match.group(1), match.group(2) or target, int(match.group(3) or 0)
    known_run(services, run_id)
    wanted = parse_target(named).value if named else None
    sheets = list(_sheets(services, run_id, wanted))
    if back >= len(sheets):
        what = f" on {wanted}" if wanted else ""
        several = f"{len(sheets)} profiles{what} by different compilers; {text!r} asks for number {back + 1}"
        raise MisuseError(
            f"Run {run_id} has {several if sheets else f'no schedule profile{what}'}.",
            allowed="a run that profile_kernel estimated; ~1 is its profile by the compiler before the newest.",
            action="Profile that run first." if not sheets else "Profile it with the other compiler too.",
        )
    file = sheets[back]
    source = services.store.artifact_path(run_id, SOURCE_ARTIFACT)
    lines = source[0].read_text(encoding="utf-8", errors="replace")[:MAX_SOURCE].splitlines() if source else []
    sheet = json.loads(file.read_text(encoding="utf-8"))
    suffix = f"~{back}" if back else ""
    return SheetSide(f"{run_id}@{sheet['target']}{suffix}", sheet, lines)


def _sheets(services: Services, run_id: str, target: str | None) -> Iterator[Path]:
    """Yield the run's sheets, newest profile first, each compiler's once."""
    seen: set[str] = set()
    newest = target
    for stage in reversed(services.store.stages(run_id)):
        if stage.stage != "profile":
            continue
        on = str(stage.result.get("target"))
        newest = newest or on
        for artifact in stage.result.get("artifacts", ()):
            name = str(artifact["uri"]).rpartition("/")[2]
            if artifact["kind"] != SHEET_KIND or on != newest or name in seen:
                continue
            seen.add(name)
            found = services.store.artifact_path(run_id, name)
            if found is not None:
                yield found[0]
