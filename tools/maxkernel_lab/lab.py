"""The lab: opens store, runtime and jobs, and runs the registry's tools. Every face talks to this."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
import structlog
from anyio.abc import TaskGroup

from maxkernel_lab.admission import Admission
from maxkernel_lab.answers import defect_result, machinery_result, misuse_result
from maxkernel_lab.budget import cut, fits
from maxkernel_lab.home import Home
from maxkernel_lab.hosting import HostedRuntime, RuntimeOpener
from maxkernel_lab.jobs import JobFolder, JobKeeper, Work, no_progress
from maxkernel_lab.jobs.orchestrators import ChildOrchestrators
from maxkernel_lab.platforms import find_compiler
from maxkernel_lab.registry import TOOLS, Arguments, Services, Tool, find_tool, parse_arguments
from maxkernel_lab.registry.arguments import OptimizeArguments
from maxkernel_lab.registry.job_tools import optimization_config
from maxkernel_lab.settings import Settings, orchestrator_environment
from maxkernel_lab.store import RunRow, RunStore
from maxkernel_lab.store.identity import call_run_id
from maxkernel_tools.context import Progress
from maxkernel_tools.errors import MachineryError, MisuseError, UnavailableError
from maxkernel_tools.records.results import ToolResult

if TYPE_CHECKING:
    from maxkernel_tools.runtime import Runtime

_CLOSE_S: Final = 8.0
_logger = structlog.get_logger(__name__)


class Lab:
    """A laboratory in this process; open it with ``Lab.open``.

    Attributes:
        services: what its tools work with; faces use it to read artifacts and jobs.
    """

    def __init__(self, services: Services, tasks: TaskGroup) -> None:
        self.services = services
        self._tasks = tasks

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        task_roots: Sequence[Path] = (),
        *,
        opener: RuntimeOpener | None = None,
        connect: Callable[[Lab, socket.socket], Coroutine[Any, Any, None]] | None = None,
    ) -> AsyncGenerator[Lab]:
        """Open a lab; leaving the context ends its calls, jobs and processes.

        Args:
            settings: as ``load_settings`` gives them.
            task_roots: the face's own task catalogues.
            opener: opens another runtime than this machine's.
            connect: serves a lab's tools on a socket, for ``start_optimization``; without it, it is refused.

        Raises:
            MachineryError: the home folder or the store cannot be used.
        """
        try:
            home = Home(settings.home).ensure()
        except OSError as error:
            raise MachineryError(f"The lab's home {settings.home} cannot be used: {error}.") from error
        store = RunStore(home)
        runtime = HostedRuntime(opener or partial(_open_local, settings, home))
        try:
            async with anyio.create_task_group() as hosts:
                hosts.start_soon(runtime.host)
                async with anyio.create_task_group() as tasks:
                    jobs = JobKeeper(home.jobs, store, tasks)
                    lab = cls(_services(settings, home, store, runtime, task_roots, jobs=jobs), tasks)
                    jobs.rerun = lab.rerun
                    if connect is not None:
                        environment = orchestrator_environment(settings)
                        jobs.launcher = ChildOrchestrators(partial(connect, lab), environment)
                    try:
                        yield lab
                    finally:
                        tasks.cancel_scope.cancel()
                runtime.release()
                hosts.cancel_scope.deadline = anyio.current_time() + _CLOSE_S
        finally:
            store.close()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools this lab offers."""
        return TOOLS

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        progress: Progress = no_progress,
        *,
        handover_s: float | None = None,
    ) -> ToolResult:
        """Run a tool.

        Args:
            name: the tool's name.
            arguments: as a client sent them, unchecked.
            progress: told where the call is, at least every 10 s.
            handover_s: after this time a long call becomes a job and its caller is answered; None waits for the end.

        Returns:
            The tool's result, within the budget. A wrong call and a failure of the lab are results too
            (``maxkernel_lab.answers``).
        """
        try:
            tool = find_tool(name)
            parsed = parse_arguments(tool, arguments)
        except MisuseError as error:
            return misuse_result(error)
        work = self._work(tool, parsed)
        work.listener = progress
        self._tasks.start_soon(work.run)
        try:
            finished = await work.wait(handover_s if tool.long else None)
        except anyio.get_cancelled_exc_class():
            await work.stop()
            raise
        if finished:
            return work.result or machinery_result(MachineryError(f"{name} was stopped before it was done."))
        return await self.services.jobs.adopt(work, tool.name, arguments)

    async def prepare_optimization(self, arguments: Mapping[str, Any]) -> JobFolder | ToolResult:
        """Return the job folder of an optimisation that a shell will run, or the answer why there is none."""
        return await self._prepared("start_optimization", arguments)

    async def prepare_call(self, name: str, arguments: Mapping[str, Any]) -> JobFolder | ToolResult:
        """Return the job folder of a tool call that another process will run, or the answer why there is none."""
        return await self._prepared(name, arguments)

    async def _prepared(self, name: str, arguments: Mapping[str, Any]) -> JobFolder | ToolResult:
        try:
            parsed = parse_arguments(find_tool(name), arguments)
            if isinstance(parsed, OptimizeArguments):
                config = optimization_config(self.services, parsed)
                return await self.services.jobs.prepare_optimization(config)
            return await self.services.jobs.prepare_call(name, arguments)
        except MisuseError as error:
            return misuse_result(error)

    def rerun(self, name: str, arguments: Mapping[str, Any]) -> Work:
        """Return the work of an earlier call, to be run again as a job.

        Raises:
            MisuseError: this version does not take the call any more.
        """
        tool = find_tool(name)
        return self._work(tool, parse_arguments(tool, arguments))

    def _work(self, tool: Tool, arguments: Arguments) -> Work:
        return Work(partial(self._run, tool, arguments), tool.name)

    async def _run(self, tool: Tool, arguments: Arguments, progress: Progress) -> ToolResult:
        """Run a handler and answer whatever happens: the outermost boundary of the lab."""
        started = time.monotonic()
        try:
            result = await tool.handler(self.services, arguments, progress)
            result = result.model_copy(update={"took_ms": round((time.monotonic() - started) * 1000)})
            return await anyio.to_thread.run_sync(self._within_budget, tool, arguments, result)
        except MisuseError as error:
            return misuse_result(error)
        except MachineryError as error:
            _logger.warning("machinery_failed", tool=tool.name, error=str(error))
            return machinery_result(error)
        except Exception:
            _logger.exception("defect", tool=tool.name)
            return defect_result(tool.name)

    def _within_budget(self, tool: Tool, arguments: Arguments, result: ToolResult) -> ToolResult:
        """Return ``result`` as it is, or cut, with the whole of it kept as an artifact of its run."""
        whole = result.model_dump(mode="json")
        if fits(whole):
            return result
        run_id = result.run_id
        if run_id is None:
            run_id = call_run_id(tool.name, arguments.model_dump_json())
            self.services.store.ensure_run(RunRow(run_id=run_id, label=tool.name, kind="call"))
        data = json.dumps(whole, indent=1).encode()
        artifact = self.services.store.put_artifact(run_id, f"{tool.name}-result.json", "result", data)
        shorter = cut({**whole, "artifacts": [*whole["artifacts"], artifact.model_dump(mode="json")]}, artifact.uri)
        return type(result).model_validate(shorter)


def _services(
    settings: Settings,
    home: Home,
    store: RunStore,
    runtime: HostedRuntime,
    task_roots: Sequence[Path],
    *,
    jobs: JobKeeper,
) -> Services:
    from maxkernel_tools.tasks import TaskCatalog  # noqa: PLC0415 - kept out of the start where no lab is opened

    return Services(
        settings=settings,
        home=home,
        store=store,
        catalog=TaskCatalog((*task_roots, *settings.task_roots)),
        runtime=runtime,
        jobs=jobs,
        benchmark_roots=tuple(root.resolve() for root in task_roots),
    )


def _open_local(settings: Settings, home: Home) -> AbstractAsyncContextManager[Runtime]:
    """Open this machine's runtime, admitted by the lock all labs of the user share.

    Raises:
        UnavailableError: there is no TPU compiler here; the message says where a lab can run.
    """
    compiler = find_compiler()
    if not compiler.available:
        raise UnavailableError(compiler.reason)
    from maxkernel_lab.runtimes.local import LocalRuntime  # noqa: PLC0415 - only a lab that works needs it

    admission = Admission(home.slots, workers=settings.pool_workers, memory_bytes=settings.pool_memory_mb << 20)

    def admit(kind: str, memory_bytes: int) -> AbstractAsyncContextManager[object]:  # noqa: ARG001 - the port's signature
        return admission.admit(memory_bytes)

    return LocalRuntime(home.root, admit=admit)
