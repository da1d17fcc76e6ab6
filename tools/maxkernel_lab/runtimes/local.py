"""The runtime of this machine: a nursery for candidates, compile services for their exports, a cache between them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from maxkernel_lab.runtimes.cache import CompileCache, cache_key
from maxkernel_lab.runtimes.compiler import Compiled, Compiler, ServiceLimits, Writes
from maxkernel_lab.runtimes.environment import Toolchain, choose, default_toolchain, require
from maxkernel_lab.runtimes.nursery import JobLimits, Nursery, Outcome
from maxkernel_lab.toolchains.stored import load_toolchain, recorded_toolchains
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.verdicts import SandboxReport
from maxkernel_tools.runtime import (
    CaseReply,
    CompileReply,
    CompileRequest,
    InterpretReply,
    InterpretRequest,
    RawError,
    ReferenceReply,
    ReferenceRequest,
    TraceReply,
    TraceRequest,
)
from maxkernel_tools.wire import Message, WireError
from maxkernel_tools.wire.replies import decode_case, decode_reference_reply, decode_trace_reply

WorkKind = Literal["trace", "compile", "interpret", "reference"]
Admit = Callable[[WorkKind, int], AbstractAsyncContextManager[object]]
"""``async with admit(kind, memory_bytes)``: held while heavy work runs; decides how much runs at once."""

_COMPILE_BYTES: Final = 1 << 30
_JOB_BYTES: Final = 1 << 30


@dataclass(frozen=True)
class LocalLimits:
    """What this runtime's processes may use."""

    jobs: JobLimits = field(default_factory=JobLimits)
    services: ServiceLimits = field(default_factory=ServiceLimits)
    cache_bytes: int = 4 << 30


class LocalRuntime:
    """Implements the runtime port with processes of this machine; an async context manager.

    Args:
        home: the lab's home folder; the runtime uses ``cache/compile`` and ``work`` in it.
        admit: held around heavy work, see ``Admit``; by default as many pieces run at once as there are cores.
        toolchains: by name; ``default`` is the lab's own interpreter.
        limits: of processes and cache.
    """

    def __init__(
        self,
        home: Path,
        *,
        admit: Admit | None = None,
        toolchains: Mapping[str, Toolchain] | None = None,
        limits: LocalLimits | None = None,
    ) -> None:
        self._home = home
        self._limits = limits or LocalLimits()
        self._toolchains = {"default": default_toolchain(), **(toolchains or {})}
        self._admit = admit or _by_cores()
        self._stack = ExitStack()
        self._tasks: TaskGroup | None = None
        self._nurseries: dict[str, Nursery] = {}
        self._compilers: dict[tuple[str, Writes], Compiler] = {}
        self._cache = CompileCache(home / "cache" / "compile", self._limits.cache_bytes)
        self._work: Path | None = None
        self._written = 0
        self._walls: SandboxReport | None = None

    async def __aenter__(self) -> Self:
        self._work = self._stack.enter_context(_work_folder(self._home / "work"))
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for owner in (*self._nurseries.values(), *self._compilers.values()):
            owner.close()
        if self._tasks is not None:
            # Killed processes end their tasks by themselves; the deadline is for one stuck in the kernel. The task
            # group is not told of the caller's exception, which would come out wrapped in a group.
            self._tasks.cancel_scope.deadline = anyio.current_time() + 5
            await self._tasks.__aexit__(None, None, None)
        self._stack.close()

    async def warm(self, *, dumps: bool = True) -> None:
        """Start the nursery and a compile service in parallel, so that the first call need not wait.

        Raises:
            UnavailableError: no TPU compiler is installed here.
            MachineryError: a process does not start.
        """
        nursery, compiler = self._nursery(), self._compiler("default", Writes(dumps=dumps))
        failures: list[MachineryError] = []

        async def start(warm: Callable[[], Awaitable[None]]) -> None:
            try:
                await warm()
            except MachineryError as failure:
                failures.append(failure)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start, nursery.warm)
            tasks.start_soon(start, compiler.warm)
        if failures:
            raise failures[0]

    async def trace(self, request: TraceRequest) -> TraceReply:
        """See the port."""
        async with self._admit("trace", _JOB_BYTES):
            outcome = await self._nursery(request.toolchain).run(request)
        error = outcome.error
        if outcome.messages:
            try:
                reply = decode_trace_reply(outcome.messages[0], outcome.child)
            except WireError as broken:
                error = _forged(broken)
            else:
                early = reply.errors.get(None)
                if early is None or reply.child.ending != "completed":
                    return reply
                ending = "out-of-memory" if early.type_name == "MemoryError" else "raised"
                return replace(reply, child=replace(reply.child, ending=ending))
        return TraceReply(child=outcome.child, errors={} if error is None else {None: error})

    async def interpret(self, request: InterpretRequest) -> InterpretReply:
        """See the port."""
        async with self._admit("interpret", _JOB_BYTES):
            outcome = await self._nursery().run(request)
        cases: list[CaseReply] = []
        error = outcome.error
        try:
            cases += [decode_case(message) for message in _only(outcome, "case")]
        except WireError as broken:
            error = _forged(broken)
        if len(cases) > len(request.cases):
            cases, error = cases[: len(request.cases)], _forged(WireError("More replies than cases."))
        return InterpretReply(child=outcome.child, cases=tuple(cases), error=error)

    async def reference(self, request: ReferenceRequest) -> ReferenceReply:
        """See the port."""
        async with self._admit("reference", _JOB_BYTES):
            outcome = await self._nursery().run(request)
        error = outcome.error
        for message in outcome.messages[:1]:
            try:
                return decode_reference_reply(message, outcome.child)
            except WireError as broken:
                error = _forged(broken)
        return ReferenceReply(child=outcome.child, error=error)

    async def compile(self, request: CompileRequest) -> CompileReply:
        """See the port."""
        toolchain = self._toolchain(request.toolchain)
        key = cache_key(request, toolchain.versions)
        cached = await anyio.to_thread.run_sync(self._cache.get, key)
        if cached is not None:
            return cached
        compiler = self._compiler(request.toolchain, Writes(dumps=request.dumps, passes=request.passes))
        async with self._admit("compile", _COMPILE_BYTES):
            compiled = await compiler.compile(request)
        if compiled.reply.child.ending != "completed":
            return compiled.reply
        return await anyio.to_thread.run_sync(self._keep, key, compiled)

    def processes(self) -> dict[str, int]:
        """Return the ids of the worker processes that run now, by what they are."""
        found = {f"nursery {name}": nursery.pid for name, nursery in self._nurseries.items()}
        for (name, writes), compiler in self._compilers.items():
            kinds = {" with dumps": writes.dumps, " with passes": writes.passes}
            found[f"compiler {name}{''.join(kind for kind, wanted in kinds.items() if wanted)}"] = compiler.pid
        return {name: pid for name, pid in found.items() if pid is not None}

    async def sandbox(self) -> SandboxReport:
        """Return which walls stand around a candidate here, found by running one that does nothing.

        Raises:
            UnavailableError: no TPU compiler is installed here.
            MachineryError: the child did not get as far as its walls.
        """
        if self._walls is None:
            reply = await self.trace(TraceRequest(kernel=KernelSource(text=""), inputs=()))
            if reply.child.sandbox is None:
                raise MachineryError(f"A child does not start here: {reply.child.stderr_tail[-500:]}")
            self._walls = reply.child.sandbox
        return self._walls

    async def versions(self) -> Mapping[str, str]:
        """See the port."""
        return dict(self._toolchains["default"].versions)

    def _keep(self, key: str, compiled: Compiled) -> CompileReply:
        try:
            reply = self._cache.put(key, compiled.reply, compiled.dumps)
        except OSError as error:
            if compiled.dumps is None:
                return compiled.reply  # the answer is whole; that it is not kept costs time, not truth
            shutil.rmtree(compiled.dumps, ignore_errors=True)
            raise MachineryError(f"The compile cache cannot be written: {error}") from error
        self._written += 1
        if self._written % 50 == 1:
            self._cache.trim()
        return reply

    def _nursery(self, name: str = "default") -> Nursery:
        if name not in self._nurseries:
            tasks, work = self._running()
            toolchain = self._toolchain(name)
            require(toolchain)
            self._nurseries[name] = Nursery(toolchain, work, tasks, self._limits.jobs)
        return self._nurseries[name]

    def _compiler(self, name: str, writes: Writes) -> Compiler:
        if (name, writes) not in self._compilers:
            tasks, work = self._running()
            toolchain = self._toolchain(name)
            require(toolchain)
            self._compilers[name, writes] = Compiler(toolchain, work, tasks, self._limits.services, writes=writes)
        return self._compilers[name, writes]

    def _toolchain(self, name: str) -> Toolchain:
        """The toolchain of this name: this runtime's, or one recorded in its home, where any lab may add it."""
        known = self._toolchains.get(name) or load_toolchain(self._home, name)
        return known or choose({**self._toolchains, **recorded_toolchains(self._home)}, name)

    def _running(self) -> tuple[TaskGroup, Path]:
        if self._tasks is None or self._work is None:
            raise MachineryError("The runtime is not open: use it inside `async with`.")
        return self._tasks, self._work


def _only(outcome: Outcome, kind: str) -> list[Message]:
    unexpected = [message.kind for message in outcome.messages if message.kind != kind]
    if unexpected:
        raise WireError(f"An unexpected frame {unexpected[0]!r:.40}.")
    return list(outcome.messages)


def _forged(error: WireError) -> RawError:
    return RawError(type_name="WireError", message=str(error), phase="reply")


def _by_cores() -> Admit:
    slots = anyio.Semaphore(max(2, os.cpu_count() or 2))

    def admit(_: WorkKind, __: int) -> AbstractAsyncContextManager[object]:
        return slots

    return admit


@contextlib.contextmanager
def _work_folder(root: Path) -> Generator[Path]:
    """A folder for this runtime alone; removes those whose owner is gone."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    for other in root.iterdir():
        with contextlib.suppress(OSError), (other / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(other, ignore_errors=True)
    own = root / f"{os.getpid()}-{secrets.token_hex(4)}"
    own.mkdir(mode=0o700)
    with (own / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield own
        finally:
            shutil.rmtree(own, ignore_errors=True)
