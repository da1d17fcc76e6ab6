"""``jaxbench evaluate``: grade a kernel with the lab's own ``test_kernel`` and ``profile_kernel``, nothing else."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import anyio

from jaxbench import task_roots
from jaxbench.cli import ANSWER_IS_NO, MACHINERY, MISUSE, OK
from jaxbench.cli.labwork import base_row, chosen_target, lab_settings, with_profile
from jaxbench.cli.printing import Advance, microseconds, print_json, print_lines, progress_bar
from jaxbench.results import ResultRow, Results
from maxkernel_lab.answers import is_misuse
from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.findings import Finding
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.records.verdicts import TestResult
from maxkernel_tools.tasks import Task, TaskCatalog


def evaluate(options: argparse.Namespace) -> int:
    """Grade a kernel: its verdict, and where it is right its time against the reference; 1 when it is not right."""
    if options.mode != "hardened":
        raise MisuseError(
            "A verdict was asked for on published inputs.",
            allowed="--mode hardened.",
            action="See what published inputs let pass with `jaxbench show ID`; `run` and `audit` take classic.",
        )
    kernel = Path(options.kernel).expanduser().resolve()
    if not kernel.is_file():
        raise MisuseError(f"{options.kernel} is not a file.", allowed="a Python file.", action="Name one.")
    task = TaskCatalog(task_roots()).find(options.task)
    settings = lab_settings(options, [kernel.parent, task.folder])
    target = chosen_target(options, settings)
    row = base_row(task, target, options).model_copy(update={"subject": "kernel", "kernel": str(kernel), "message": ""})
    with progress_bar(2, quiet=options.json) as advance:
        tested, profiled = anyio.run(_grade, task, row, settings, options.level, advance)
    row = _graded(row, tested, profiled)
    if options.output and not is_misuse(tested):
        Results.open(Path(options.output)).put(row)
    return _answer(row, tested, profiled, options)


async def _grade(
    task: Task, row: ResultRow, settings: Settings, level: str, advance: Advance
) -> tuple[ToolResult, ToolResult | None]:
    common: dict[str, Any] = {"path": row.kernel, "task": _name(task), "target": row.target}

    async def progress(done: float, total: float | None, message: str) -> None:  # noqa: ARG001 - the port's signature
        advance(message, 0)

    async with Lab.open(settings, task_roots()) as lab:
        tested = await lab.call("test_kernel", {**common, "level": level}, progress)
        advance("tested", 1)
        profiled = None
        if isinstance(tested, TestResult) and tested.verdict in ("correct", "inconclusive"):
            profiled = await lab.call("profile_kernel", {**common, "against": "reference"}, progress)
        advance("profiled", 1)
        return tested, profiled


def _name(task: Task) -> str:
    inside = any(task.folder.is_relative_to(root) for root in task_roots())
    return task.facts.id if inside else str(task.folder)


def _graded(row: ResultRow, tested: ToolResult, profiled: ToolResult | None) -> ResultRow:
    verdict = tested.verdict if isinstance(tested, TestResult) else "ungraded"
    if profiled is not None:
        row = with_profile(row, profiled)
    below = [f for f in (profiled.findings if profiled else ()) if f.code == "integrity-below-roofline"]
    return row.model_copy(
        update={
            "status": "failed" if tested.state == "failed" else "done",
            "verdict": "invalid" if below and verdict == "correct" else verdict,
            "run_id": tested.run_id or row.run_id,
            "message": tested.summary[:500],
            "took_ms": row.took_ms + tested.took_ms,
        }
    )


def _answer(row: ResultRow, tested: ToolResult, profiled: ToolResult | None, options: argparse.Namespace) -> int:
    if is_misuse(tested):
        code = MISUSE
    elif tested.state == "failed":
        code = MACHINERY
    else:
        code = OK if row.verdict == "correct" else ANSWER_IS_NO
    if options.json:
        print_json(
            {
                "ok": code == OK,
                "summary": tested.summary,
                "row": row.model_dump(mode="json"),
                "test": tested.model_dump(mode="json"),
                "profile": profiled.model_dump(mode="json") if profiled else None,
            }
        )
        return code
    print_lines(f"{row.task}: {row.verdict}. {tested.summary}")
    if profiled is not None:
        print_lines(profiled.summary)
    if row.published_us is not None:
        print_lines(f"Published for the reference on {row.target}: {microseconds(row.published_us)}.")
    if row.labels:
        print_lines(f"The task is labelled {row.labels}: it is reported apart from the others.")
    for finding in (*tested.findings, *(profiled.findings if profiled else ())):
        print_lines(_finding(finding))
    if row.run_id:
        print_lines(f"record: maxkernel runs show {row.run_id}")
    return code


def _finding(finding: Finding) -> str:
    place = f"{finding.file or 'kernel.py'}:{finding.line}: " if finding.line else ""
    hint = f" → {finding.hint}" if finding.hint else ""
    return f"{finding.severity} {place}{finding.message} [{finding.code}]{hint}"
