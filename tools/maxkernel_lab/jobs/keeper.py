"""The lab's jobs: hand a long call over to one, watch it, cancel it, take it up again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import anyio
import anyio.to_thread
import structlog
from anyio.abc import TaskGroup

from maxkernel_lab.jobs.folder import OWNER, JobFolder
from maxkernel_lab.jobs.work import Work
from maxkernel_lab.locks import lock_owner
from maxkernel_lab.store import RunStore
from maxkernel_tools.context import Progress
from maxkernel_tools.errors import MachineryError, MisuseError
from maxkernel_tools.records.jobs import JobProgress, JobResult
from maxkernel_tools.records.results import ToolResult

_POLL_S: Final = 0.25
_STOP_S: Final = 10.0
_START_S: Final = 20.0
_logger = structlog.get_logger(__name__)


class Launcher(Protocol):
    """Starts an orchestrator for a job folder and stays until it has ended."""

    async def run(self, folder: Path) -> int:
        """Start it, wait for its end, return its exit code (negative: the signal); cancelled, kill all of it."""
        ...


Rerun = Callable[[str, Mapping[str, Any]], Work]
"""``rerun(tool_name, arguments)`` makes the work of a call that was interrupted, for taking it up again."""


class JobKeeper:
    """Keeps the jobs of one lab.

    Args:
        folder: ``$MAXKERNEL_HOME/jobs``.
        store: for the index of jobs.
        tasks: the lab's task group; jobs end with it.

    Attributes:
        rerun: makes the work of an interrupted call; the lab sets it.
        launcher: starts orchestrators, where this lab can.
    """

    def __init__(self, folder: Path, store: RunStore, tasks: TaskGroup) -> None:
        self._folder = folder
        self._store = store
        self._tasks = tasks
        self.rerun: Rerun | None = None
        self.launcher: Launcher | None = None
        self._stops: dict[str, anyio.CancelScope] = {}

    async def adopt(self, work: Work, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Let a call that is taking long go on as a job, and return what to tell its caller."""
        folder = await self.prepare_call(tool, arguments)
        await self._own(folder, lambda lock: self._keep_call(folder, work, lock))
        return ToolResult(
            ok=None,
            state="running",
            job_id=folder.job_id,
            summary=f"{tool} goes on as job {folder.job_id}; get_job with wait_s=40 waits for it.",
        )

    async def prepare_call(self, tool: str, arguments: Mapping[str, Any]) -> JobFolder:
        """Return a new job folder for a tool call."""
        config = {"kind": "call", "tool": tool, "arguments": dict(arguments)}
        folder = await anyio.to_thread.run_sync(lambda: JobFolder.create(self._folder, config))
        await anyio.to_thread.run_sync(self._store.add_job, folder.job_id, "call", tool, None)
        return folder

    async def start_optimization(self, config: Mapping[str, Any]) -> JobResult:
        """Start an orchestrator as a job, or take up the interrupted one of the same config.

        Raises:
            MachineryError: this lab cannot start one, or it did not come up.
        """
        folder = await self.prepare_optimization(config)
        await self._launch(folder)
        return folder.report()

    async def prepare_optimization(self, config: Mapping[str, Any]) -> JobFolder:
        """Return the folder for an optimisation: a new one, or that of an interrupted job of the same config."""
        whole = {"kind": "optimization", **config}
        for job_id in await anyio.to_thread.run_sync(self._store.job_ids, 200):
            folder = JobFolder(self._folder / job_id)
            if folder.config == whole and folder.state() in {"interrupted", "cancelled"}:
                folder.reopen()
                return folder
        folder = await anyio.to_thread.run_sync(lambda: JobFolder.create(self._folder, whole))
        label = str(config.get("task") or config.get("reference_path") or "")
        await anyio.to_thread.run_sync(self._store.add_job, folder.job_id, "optimization", label, None)
        return folder

    async def get(self, job_id: str, wait_s: float, progress: Progress) -> JobResult:
        """Return how a job stands, after waiting up to ``wait_s`` for its end."""
        folder = JobFolder.find(self._folder, job_id)
        deadline = anyio.current_time() + wait_s
        told = ""
        while True:
            report = await anyio.to_thread.run_sync(folder.report)
            if report.job_state != "running" or anyio.current_time() >= deadline:
                return report
            words = f"{report.progress.stage} {report.progress.message}".strip()
            if words != told:
                told = words
                await progress(report.progress.done, report.progress.total, words)
            await anyio.sleep(min(_POLL_S, max(0.0, deadline - anyio.current_time())))

    async def cancel(self, job_id: str) -> JobResult:
        """Stop a job, whichever process of the user owns it."""
        folder = JobFolder.find(self._folder, job_id)
        if folder.state() == "running":
            await anyio.to_thread.run_sync(folder.request_cancel)
            own = self._stops.get(job_id)
            if own is not None:
                own.cancel()
            elif folder.kind == "optimization":
                _terminate_orchestrator(folder)
            await _until(lambda: folder.state() != "running", _STOP_S)
        elif folder.state() == "interrupted":
            folder.request_cancel()
        return await anyio.to_thread.run_sync(folder.report)

    async def resume(self, job_id: str) -> JobResult:
        """Take up a job that ended without an answer; one that runs or is done is left as it is."""
        folder = JobFolder.find(self._folder, job_id)
        if folder.state() in {"interrupted", "cancelled", "failed"}:
            folder.reopen()
            config = folder.config
            if folder.kind == "call" and self.rerun is not None:
                work = self.rerun(str(config["tool"]), config["arguments"])
                self._tasks.start_soon(work.run)
                await self._own(folder, lambda lock: self._keep_call(folder, work, lock))
            else:
                await self._launch(folder)
        return await anyio.to_thread.run_sync(folder.report)

    async def _own(self, folder: JobFolder, keep: Callable[[int], Coroutine[Any, Any, None]]) -> None:
        lock = await anyio.to_thread.run_sync(folder.lock)
        if lock is None:
            raise MisuseError(
                f"Job {folder.job_id} is owned by another process.", allowed="a job nobody runs.", action="Use get_job."
            )
        self._tasks.start_soon(keep, lock)

    async def _keep_call(self, folder: JobFolder, work: Work, lock: int) -> None:
        """Own the job of a call until it ends; the lock is freed only after the result is written."""

        async def tell(done: float, total: float | None, message: str) -> None:
            # A job without a total is common: tools know their steps, not always how many will follow.
            step = JobProgress(
                stage=work.label, message=message, done=int(done), total=None if total is None else int(total)
            )
            await anyio.to_thread.run_sync(folder.write_progress, step)

        work.listener = tell
        try:
            with anyio.CancelScope() as scope:
                self._stops[folder.job_id] = scope
                while not await work.wait(_POLL_S * 4):
                    if folder.cancel_requested:
                        break
            if not work.finished:
                await work.stop(_STOP_S)
            if work.result is not None:
                folder.write_result(_plain(work.result, folder.job_id))
        finally:
            self._stops.pop(folder.job_id, None)
            os.close(lock)

    async def _launch(self, folder: JobFolder) -> None:
        if self.launcher is None:
            raise MachineryError(
                "This lab cannot start an orchestrator; use `maxkernel optimize` in a shell, or "
                "start_optimization on a server."
            )
        ended = anyio.Event()
        self._tasks.start_soon(self._keep_orchestrator, folder, self.launcher, ended)
        # Until it holds its lock a reader would call the job interrupted; so the caller hears of it only then.
        await _until(lambda: folder.owned or ended.is_set(), _START_S)

    async def _keep_orchestrator(self, folder: JobFolder, launcher: Launcher, ended: anyio.Event) -> None:
        """Stay with an orchestrator to its end. What it leaves without a result may be taken up again."""
        try:
            async with anyio.create_task_group() as group:
                self._stops[folder.job_id] = group.cancel_scope
                group.start_soon(_watch_cancel, folder, group.cancel_scope)
                try:
                    code = await launcher.run(folder.path)
                except MachineryError as error:
                    folder.note_last_words(str(error))
                else:
                    _logger.info("orchestrator_ended", job_id=folder.job_id, exit_code=code)
                group.cancel_scope.cancel()
        finally:
            ended.set()
            self._stops.pop(folder.job_id, None)


async def _watch_cancel(folder: JobFolder, scope: anyio.CancelScope) -> None:
    """Another process can only leave a note; look for it."""
    if await _until(lambda: folder.cancel_requested, None):
        scope.cancel()


async def _until(holds: Callable[[], bool], seconds: float | None) -> bool:
    """Poll what another process may change at any time; return whether it came to hold in time."""
    with anyio.move_on_after(seconds):
        while not holds():  # noqa: ASYNC110 - the other side is a file, which sets no event
            await anyio.sleep(_POLL_S if seconds is None else 0.05)
        return True
    return False


def _terminate_orchestrator(folder: JobFolder) -> None:
    """Signal an orchestrator that a shell started: the process that holds the lock, if it is ours and on this job."""
    pid = lock_owner(folder.path / OWNER)
    if pid is None:
        return
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"maxkernel_orchestrators" in command and any(folder.job_id.encode() in part for part in command):
            os.kill(pid, signal.SIGTERM)
    except (OSError, ProcessLookupError):
        return


def _plain(result: ToolResult, job_id: str) -> dict[str, Any]:
    return {**result.model_dump(mode="json"), "job_id": job_id}
