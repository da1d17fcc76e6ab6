"""``maxkernel optimize`` and everything that goes on as a job: prepare the job folder, then become the orchestrator.

This room starts no processes of its own: it replaces itself (``exec``), or, for ``--detach``, a copy of itself.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

import jaxbench
from maxkernel_lab.jobs import JobFolder
from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings
from maxkernel_mcp.cli import OK
from maxkernel_mcp.cli.printing import shell_progress
from maxkernel_mcp.cli.tools import report, shell_settings, tool_arguments
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.jobs import JobResult
from maxkernel_tools.records.results import ToolResult


def optimize(options: argparse.Namespace) -> int:
    """Prepare or find the job, then run its orchestrator in the place of this process."""
    arguments = tool_arguments("start_optimization", options)
    settings = shell_settings(options, arguments)
    if options.detach and (arguments.get("paradigm") or settings.paradigm) == "hitl":
        raise MisuseError(
            "Human in the loop needs the terminal.", allowed="hitl without --detach.", action="Leave --detach out."
        )
    prepared = anyio.run(_prepare, arguments, settings)
    if isinstance(prepared, ToolResult):
        return report(prepared, as_json=options.json)
    command = _orchestrator(prepared, settings, as_json=options.json)
    return _go(command, prepared, detach=options.detach, as_json=options.json)


async def _prepare(arguments: Mapping[str, Any], settings: Settings) -> JobFolder | ToolResult:
    async with Lab.open(settings, jaxbench.task_roots()) as lab:
        return await lab.prepare_optimization(arguments)


def hitl(options: argparse.Namespace) -> int:
    """``maxkernel hitl``: the same job with the person in the loop, here in the terminal."""
    options.paradigm, options.detach = "hitl", False
    return optimize(options)


def resume(options: argparse.Namespace) -> int:
    """Take up an interrupted job here and stay until it is done."""
    settings = shell_settings(options, {})
    folder = JobFolder.find(settings.home / "jobs", options.job_id)
    if folder.state() in {"interrupted", "cancelled", "failed"} and folder.kind != "call":
        folder.reopen()
        return _go(_orchestrator(folder, settings, as_json=options.json), folder, detach=False, as_json=options.json)
    return report(anyio.run(_resume, options.job_id, settings, options.json), as_json=options.json)


async def _resume(job_id: str, settings: Settings, quiet: bool) -> ToolResult:
    async with Lab.open(settings, jaxbench.task_roots()) as lab:
        result = await lab.call("resume_job", {"job_id": job_id})
        with shell_progress(enabled=not quiet) as progress:
            while isinstance(result, JobResult) and result.job_state == "running":
                result = await lab.call("get_job", {"job_id": job_id, "wait_s": 40}, progress)
        return result


def detach_call(name: str, arguments: Mapping[str, Any], settings: Settings, options: argparse.Namespace) -> int:
    """Make a job of a tool call and let a copy of this command run it in the background."""
    prepared = anyio.run(_prepare_call, name, arguments, settings)
    if isinstance(prepared, ToolResult):
        return report(prepared, as_json=options.json)
    command = [
        sys.executable,
        "-P",
        "-m",
        "maxkernel_mcp",
        "jobs",
        "resume",
        prepared.job_id,
        "--home",
        str(settings.home),
    ]
    return _go(command, prepared, detach=True, as_json=options.json)


async def _prepare_call(name: str, arguments: Mapping[str, Any], settings: Settings) -> JobFolder | ToolResult:
    async with Lab.open(settings, jaxbench.task_roots()) as lab:
        return await lab.prepare_call(name, arguments)


def _orchestrator(folder: JobFolder, settings: Settings, *, as_json: bool) -> list[str]:
    serve = [sys.executable, "-P", "-m", "maxkernel_mcp", "serve", "--home", str(settings.home)]
    for root in settings.roots:
        serve += ["--root", str(root)]
    command = [sys.executable, "-P", "-m", "maxkernel_orchestrators", "--job-dir", str(folder.path)]
    return [*command, *(["--json"] if as_json else []), "--serve-command", *serve]


def _go(command: Sequence[str], folder: JobFolder, *, detach: bool, as_json: bool) -> int:
    """Become ``command``, or leave a copy behind that does and print the job's id."""
    if detach:
        if os.fork():
            return report(
                ToolResult(
                    ok=None,
                    state="running",
                    job_id=folder.job_id,
                    summary=f"Job {folder.job_id} goes on in the background.",
                ),
                as_json=as_json,
            )
        os.setsid()
        _to_background(folder.path / "log.jsonl")
    sys.stdout.flush()
    os.execv(command[0], list(command))  # noqa: S606 - our own interpreter, arguments as a list
    return OK


def _to_background(log: Path) -> None:
    """Detach the standard streams from the terminal; what is said goes to the job's log."""
    null = os.open(os.devnull, os.O_RDONLY)
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(null, 0)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
