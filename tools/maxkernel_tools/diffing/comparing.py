"""Two files in, the whole answer as files out: what a process that compares captures does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from maxkernel_tools.diffing.tables import rows_csv, rows_json
from maxkernel_tools.diffing.tool import full_diff
from maxkernel_tools.diffing.viewing import diff_page
from maxkernel_tools.records.targets import parse_target
from maxkernel_tools.traces import TraceProfile, read_profile

Report = Callable[[float, str], None]
"""``report(done, message)``: how much of 1 is done."""

ARTIFACTS = {"view.html": "diff-view", "rows.csv": "diff-table", "rows.json": "diff-table"}
"""What is written beside ``result.json``, with its kind."""


def compare_files(request: Mapping[str, str | int | None], out: Path, report: Report) -> None:
    """Compare two captures and write the result, tables and view into ``out``.

    Args:
        request: ``baseline`` and ``candidate`` (paths), ``core`` and ``candidate_core`` (numbers or None), ``target``
            (for captures that do not name their device, may be empty).
        out: an existing folder.
        report: told how far it is.

    Raises:
        MisuseError: a capture is absent or damaged, or lacks the core.
    """
    named = str(request.get("target") or "")
    target = parse_target(named) if named else None
    core, candidate_core = request.get("core"), request.get("candidate_core")

    def read(side: str, begin: float) -> TraceProfile:
        report(begin, f"reading the {side}")
        said = partial(_part, report, begin, f"reading the {side}")
        return read_profile(Path(str(request[side])), target=target, progress=said)

    baseline = read("baseline", 0.0)
    candidate = read("candidate", 0.4)
    report(0.8, "comparing")
    found = full_diff(
        baseline,
        candidate,
        core=None if core is None else int(core),
        candidate_core=None if candidate_core is None else int(candidate_core),
    )
    report(0.95, "writing the table and the view")
    (out / "rows.csv").write_text(rows_csv(found.rows), encoding="utf-8")
    (out / "rows.json").write_text(rows_json(found.result, found.rows), encoding="utf-8")
    (out / "view.html").write_text(diff_page(found), encoding="utf-8")
    (out / "result.json").write_text(found.result.model_dump_json(), encoding="utf-8")


def _part(report: Report, begin: float, message: str, done: float) -> None:
    report(begin + 0.4 * done, message)
