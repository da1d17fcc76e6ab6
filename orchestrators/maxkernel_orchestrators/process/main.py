"""From the command line to an exit code: 0 a verified kernel, 1 none or stopped, 2 misuse, 3 the machinery failed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import cast

import anyio
from mcp.shared.exceptions import MCPError
from rich.console import Console

from maxkernel_orchestrators.connection import LabError, LabGoneError, LabRefusalError
from maxkernel_orchestrators.connection.streams import inherited, spawned
from maxkernel_orchestrators.hitl import PersonLeftError
from maxkernel_orchestrators.job import JobConfig, JobFolder, Journal
from maxkernel_orchestrators.process.arguments import Invocation, parse_arguments
from maxkernel_orchestrators.process.work import Worker
from maxkernel_orchestrators.reporting import OptimizationResult
from maxkernel_orchestrators.reporting.display import Display, show_result
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.results import ToolResult

OK, NO, MISUSE, MACHINERY = 0, 1, 2, 3


def main(words: Sequence[str] | None = None) -> int:
    """Work on the job the command line names; return the exit code."""
    invocation = parse_arguments(sys.argv[1:] if words is None else words)
    folder = JobFolder(invocation.job_dir.resolve())
    try:
        config = folder.read_config()
        if config.paradigm == "hitl" and not sys.stdin.isatty():
            return _refuse("Human in the loop needs a terminal: run `maxkernel hitl TASK` in one.", invocation)
        folder.own()
    except MisuseError as error:
        return _refuse(str(error), invocation)
    done = folder.result()
    if done is not None:
        return _answer(_known(done), invocation)
    journal = Journal(folder.path / "journal.sqlite3")
    # A person in the loop is told by the session itself; two writers would draw over each other.
    watched = invocation.mcp_fd is None and config.paradigm != "hitl"
    try:
        with Display(f"{config.subject.label} on {config.target}", enabled=watched) as display:
            result = anyio.run(_session, invocation, folder, config, journal, display)
    finally:
        journal.close()
    return _answer(result, invocation)


async def _session(
    invocation: Invocation, folder: JobFolder, config: JobConfig, journal: Journal, display: Display
) -> ToolResult:
    """Connect, work, and turn every foreseen failure into a result. A job that may go on later keeps no result."""
    result: ToolResult = ToolResult(
        ok=None, job_id=folder.job_id, summary="Stopped before it was done; the same command goes on from here."
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, tasks.cancel_scope)
        result = await _guarded(invocation, folder, config, journal, display)
        tasks.cancel_scope.cancel()
    return result


async def _guarded(
    invocation: Invocation, folder: JobFolder, config: JobConfig, journal: Journal, display: Display
) -> ToolResult:
    try:
        return await _connected(invocation, Worker(folder, config, journal, display))
    except _FORESEEN as error:
        return _failed(folder, error)
    except BaseExceptionGroup as group:
        # Task groups wrap what their tasks raise; anything unforeseen among it goes on as it is.
        foreseen, others = group.split(_FORESEEN)
        if foreseen is None or others is not None:
            raise
        return _failed(folder, _first(foreseen))


_FORESEEN = (LabError, MisuseError, MCPError, OSError, PersonLeftError)


def _failed(folder: JobFolder, error: BaseException) -> ToolResult:
    """Turn a failure into what is said. Only a wrong job gets a result; any other may be taken up again."""
    if isinstance(error, LabRefusalError | MisuseError):
        folder.log("refused", message=str(error))
        refusal = ToolResult(ok=False, job_id=folder.job_id, summary=str(error))
        folder.write_result(refusal.model_dump(mode="json"))
        return refusal
    if isinstance(error, PersonLeftError):
        folder.log("left", message=str(error))
        return ToolResult(ok=None, job_id=folder.job_id, summary=f"{error} The same command goes on from here.")
    message = str(error) or type(error).__name__
    if not isinstance(error, LabError) or isinstance(error, LabGoneError):
        message = f"The lab went away ({message}). The same command goes on from here."
    folder.log("failed", message=message)
    return ToolResult(ok=False, state="failed", job_id=folder.job_id, summary=message)


async def _connected(invocation: Invocation, worker: Worker) -> OptimizationResult:
    connection = inherited(invocation.mcp_fd) if invocation.mcp_fd is not None else spawned(invocation.serve_command)
    async with connection as client:
        return await worker.run(client)


async def _stop_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _known(done: dict[str, object]) -> ToolResult:
    """The result of a job that was done already."""
    try:
        return OptimizationResult.model_validate(done)
    except ValueError:
        return ToolResult(ok=done.get("ok") is True, summary=str(done.get("summary", "The job is done.")))


def _answer(result: ToolResult, invocation: Invocation) -> int:
    if invocation.mcp_fd is None:
        if invocation.as_json:
            sys.stdout.write(result.model_dump_json(indent=1) + "\n")
        elif isinstance(result, OptimizationResult):
            show_result(result)
        else:
            Console(stderr=True, highlight=False).print(result.summary, markup=False, soft_wrap=True)
    if result.state == "failed":
        return MACHINERY
    if result.ok:
        return OK
    return NO if isinstance(result, OptimizationResult) or result.ok is None else MISUSE


def _refuse(message: str, invocation: Invocation) -> int:
    if invocation.as_json:
        sys.stdout.write(ToolResult(ok=False, summary=message).model_dump_json(indent=1) + "\n")
    else:
        sys.stderr.write(message + "\n")
    return MISUSE
