"""``jaxbench run``: time the reference of every task, on a TPU where there is one, else by the schedule model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import anyio

from jaxbench import task_roots
from jaxbench.cli import ANSWER_IS_NO, MACHINERY, OK
from jaxbench.cli.labwork import DEFAULT_OUTPUT, base_row, chosen_target, lab_settings, with_profile
from jaxbench.cli.listing import chosen_tasks
from jaxbench.cli.printing import Advance, microseconds, percent, print_json, print_lines, print_table, progress_bar
from jaxbench.results import CSV_FILE, JSON_FILE, ResultRow, Results
from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings
from maxkernel_tools.errors import MachineryError, MisuseError
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.tasks import Task, TaskCatalog


def run(options: argparse.Namespace) -> int:
    """Time references into ``results.csv`` and ``results.json``; rows that are done already are kept."""
    tasks = _tasks(options)
    settings = lab_settings(options)
    target = chosen_target(options, settings)
    folder = Path(options.output or DEFAULT_OUTPUT)
    results = Results(folder) if options.fresh else Results.open(folder)
    pending = [task for task in tasks if not _done(results, base_row(task, target, options))]
    with progress_bar(len(pending), quiet=options.json) as advance:
        if pending:
            rows = [base_row(task, target, options) for task in pending]
            anyio.run(_run_all, list(zip(pending, rows, strict=True)), settings, results, advance)
    rows = [row for task in tasks if (row := results.find(base_row(task, target, options).key)) is not None]
    return _answer(rows, folder, options, resumed=len(tasks) - len(pending))


def _tasks(options: argparse.Namespace) -> list[Task]:
    if options.tasks and options.all:
        raise MisuseError("Both tasks and --all were given.", allowed="one of them.", action="Leave out one.")
    if options.all or options.split:
        return chosen_tasks(options.split)
    if not options.tasks:
        raise MisuseError(
            "No task was given.", allowed="task ids, --all or --split.", action="See them with `jaxbench list`."
        )
    catalog = TaskCatalog(task_roots())
    return [catalog.find(name) for name in dict.fromkeys(options.tasks)]


def _done(results: Results, wanted: ResultRow) -> bool:
    row = results.find(wanted.key)
    return row is not None and row.status == "done" and row.task_sha256 == wanted.task_sha256


async def _run_all(
    pending: Sequence[tuple[Task, ResultRow]], settings: Settings, results: Results, advance: Advance
) -> None:
    async with Lab.open(settings, task_roots()) as lab:
        for task, started in pending:
            advance(task.facts.id, 0)
            row = await _time_reference(lab, task, started, advance)
            results.put(row)
            advance(f"{row.task} {microseconds(row.time_us) or row.message[:80]}", 1)


async def _time_reference(lab: Lab, task: Task, row: ResultRow, advance: Advance) -> ResultRow:
    """Profile the reference as if it were the candidate, by the tool every kernel is profiled with."""
    arguments = {
        "source": task.reference.text,
        "task": task.facts.id,
        "target": row.target,
        "against": "none",
    }

    async def progress(done: float, total: float | None, message: str) -> None:  # noqa: ARG001 - the port's signature
        advance(f"{row.task}: {message}", 0)

    result: ToolResult = await lab.call("profile_kernel", arguments, progress)
    if result.state == "failed":
        if "No TPU compiler" in result.summary:
            raise MachineryError(result.summary)
        result = await lab.call("profile_kernel", arguments, progress)  # a lab that fails is asked once more
    return with_profile(row, result)


def _answer(rows: list[ResultRow], folder: Path, options: argparse.Namespace, *, resumed: int) -> int:
    failed = [row for row in rows if row.status == "failed"]
    sources = sorted({row.time_source for row in rows if row.status == "done"})
    said = {"schedule-model": "estimated by the schedule model, not measured", "device": "measured on the device"}
    how = "; ".join(said.get(source, source) for source in sources) or "none"
    summary = f"{len(rows) - len(failed)} of {len(rows)} references timed on {rows[0].target if rows else '?'}: {how}."
    if options.mode == "classic":
        summary += " Inputs as published: the column lets_pass says what a wrong kernel could get away with on them."
    if resumed:
        summary += f" {resumed} were done already."
    code = (MACHINERY if len(failed) == len(rows) else ANSWER_IS_NO) if failed else OK
    if options.json:
        files = {"csv": str(folder / CSV_FILE), "json": str(folder / JSON_FILE)}
        print_json(
            {"ok": not failed, "summary": summary, **files, "rows": [row.model_dump(mode="json") for row in rows]}
        )
        return code
    print_table(
        ("task", "time", "source", "bound by", "roofline", "of it", "published", "label"),
        [
            (
                row.task,
                microseconds(row.time_us) or f"failed: {row.message}",
                row.time_source,
                row.bound_by,
                microseconds(row.roofline_us),
                percent(row.roofline_fraction),
                microseconds(row.published_us),
                row.labels,
            )
            for row in rows
        ],
    )
    print_lines("", summary, f"Written to {folder / CSV_FILE} and {folder / JSON_FILE}.")
    return code
