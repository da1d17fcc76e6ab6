"""The lab's side of the nursery: one warm process per toolchain, any number of jobs at once, restarted when it dies."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import anyio
from anyio.abc import TaskGroup

from maxkernel_lab.runtimes.environment import Toolchain, command, environment
from maxkernel_lab.supervision import sockets
from maxkernel_lab.supervision.processes import Supervised
from maxkernel_tools.errors import DeadlineError, MachineryError
from maxkernel_tools.records.verdicts import SandboxReport
from maxkernel_tools.runtime import (
    ChildReport,
    Ending,
    InterpretRequest,
    RawError,
    ReferenceRequest,
    TraceRequest,
)
from maxkernel_tools.wire import Limits, Message, WireError
from maxkernel_tools.wire.replies import decode_done, decode_walls
from maxkernel_tools.wire.requests import JobRequest, encode_request

_START_S: Final = 90.0
_GRACE_S: Final = 10.0
_MESSAGE_BYTES: Final = 1 << 17
_TRACE_LIMITS: Final = Limits(blob_bytes=256 << 20, total_bytes=1 << 30)
_ARRAY_LIMITS: Final = Limits()


@dataclass(frozen=True)
class JobLimits:
    """What one job may use.

    Attributes:
        memory_bytes: resident over all its processes, and data segment.
        output_bytes: printed to fd 1 or 2 each.
        cpu_factor: processor seconds per second of deadline.
        without: walls to leave out (``seccomp``, ``pid-namespace``, ``landlock``), as on a machine that lacks them; the
            report says so.
    """

    memory_bytes: int = 4 << 30
    output_bytes: int = 4 << 20
    cpu_factor: float = 8.0
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a job sent and how it ended.

    Attributes:
        messages: frames between walls and done, in order.
        child: the nursery's word on how the process ended.
        error: what the child says stopped it, or a :class:`WireError` where its frames were forged or broken.
    """

    messages: tuple[Message, ...]
    child: ChildReport
    error: RawError | None


@dataclass
class _Pending:
    ended: anyio.Event = field(default_factory=anyio.Event)
    report: dict[str, Any] | None = None


@dataclass
class _Talk:
    """One job's conversation over its private socket."""

    request: JobRequest
    nonce: str
    sock: socket.socket
    messages: list[Message] = field(default_factory=list[Message])
    walls: SandboxReport | None = None
    error: RawError | None = None
    done: bool = False
    finished: anyio.Event = field(default_factory=anyio.Event)


@dataclass
class _Generation:
    """One nursery process from start to end."""

    process: Supervised
    control: socket.socket
    ready: anyio.Event = field(default_factory=anyio.Event)
    jobs: dict[str, _Pending] = field(default_factory=dict[str, _Pending])
    dead: bool = False


class NurseryDiedError(MachineryError):
    """The nursery ended while a job ran in it; says nothing about the candidate."""


class Nursery:
    """Runs jobs in children of a warm process.

    Args:
        toolchain: whose interpreter.
        folder: where job folders go.
        tasks: task group that outlives every call.
    """

    def __init__(self, toolchain: Toolchain, folder: Path, tasks: TaskGroup, limits: JobLimits) -> None:
        self._toolchain = toolchain
        self._folder = folder
        self._tasks = tasks
        self._limits = limits
        self._current: _Generation | None = None
        self._starting = anyio.Lock()

    @property
    def pid(self) -> int | None:
        """Process id, where it runs."""
        running = self._current
        return None if running is None or running.process.returncode is not None else running.process.pid

    async def warm(self) -> None:
        """Start the process where it is not running, and wait until it is ready.

        Raises:
            MachineryError: it does not start.
        """
        await self._ready()

    async def run(self, request: JobRequest) -> Outcome:
        """Run one job to its end; retried once where the nursery itself died.

        Raises:
            MachineryError: the nursery failed, twice.
        """
        try:
            return await self._run(request)
        except NurseryDiedError:
            return await self._run(request)

    def close(self) -> None:
        """Kill the nursery and with it every job."""
        if self._current is not None:
            self._retire(self._current)

    async def _run(self, request: JobRequest) -> Outcome:
        generation = await self._ready()
        job, nonce = secrets.token_hex(8), secrets.token_hex(16)
        directory = self._folder / job
        try:
            directory.mkdir(mode=0o700)
        except OSError as error:
            raise MachineryError(f"No folder for a job: {error}") from error
        ours, theirs = sockets.pair()
        talk = _Talk(request, nonce, ours)
        pending = generation.jobs[job] = _Pending()
        order = {
            "job": job,
            "directory": str(directory),
            "deadline_s": request.timeout_s,
            "memory_bytes": self._limits.memory_bytes,
            "cpu_s": max(1, round(request.timeout_s * self._limits.cpu_factor)),
            "output_bytes": self._limits.output_bytes,
            "roots": _roots(request),
        }
        try:
            with theirs:
                self._order(generation, {"op": "run", "spec": order}, [theirs.fileno()])
            await self._exchange(talk, pending, lambda: self._kill(generation, job))
        finally:
            if pending.report is None:
                self._kill(generation, job)
            with anyio.move_on_after(5, shield=True):
                await pending.ended.wait()
            generation.jobs.pop(job, None)
            ours.close()
            shutil.rmtree(directory, ignore_errors=True)
        if pending.report is None:
            raise NurseryDiedError(f"The nursery died: {generation.process.stderr_since()[-2000:]}")
        return _outcome(talk, pending.report)

    async def _exchange(self, talk: _Talk, pending: _Pending, abort: Callable[[], None]) -> None:
        """Send the request, gather what comes back, until the nursery says the child has ended.

        Raises:
            DeadlineError: it never does.
        """

        async def send() -> None:
            # A child that ends before it has read its request is known by its end, not by a broken pipe.
            with contextlib.suppress(OSError):
                await sockets.send_frame(talk.sock, encode_request(talk.request, talk.nonce))

        async def receive() -> None:
            await _receive(talk)
            if not talk.done and talk.error is not None:
                abort()  # nobody listens to it any more

        late = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            tasks.start_soon(receive)
            with anyio.move_on_after(talk.request.timeout_s + _GRACE_S) as scope:
                await pending.ended.wait()
            late = scope.cancelled_caught
            with anyio.move_on_after(
                0 if late else _GRACE_S
            ):  # what the child sent before its end is still in the socket
                await talk.finished.wait()
            tasks.cancel_scope.cancel()
        if late:  # raised out here: out of the task group it would come wrapped in a group
            raise DeadlineError("The nursery did not end a job in time.")

    def _order(self, generation: _Generation, order: dict[str, Any], descriptors: Sequence[int]) -> None:
        try:
            sockets.send_message(generation.control, json.dumps(order).encode(), descriptors)
        except OSError as error:
            self._retire(generation)
            raise NurseryDiedError(f"The nursery does not take orders: {error}") from None

    def _kill(self, generation: _Generation, job: str) -> None:
        if not generation.dead:
            with contextlib.suppress(NurseryDiedError):
                self._order(generation, {"op": "kill", "job": job}, [])

    async def _ready(self) -> _Generation:
        async with self._starting:
            generation = self._current
            if generation is None or generation.dead:
                generation = self._current = await self._start()
        with anyio.move_on_after(_START_S):
            await generation.ready.wait()
        if generation.dead or not generation.ready.is_set():
            self._retire(generation)
            raise MachineryError(f"The worker does not start: {generation.process.stderr_since()[-2000:]}")
        return generation

    async def _start(self) -> _Generation:
        ours, theirs = sockets.pair(socket.SOCK_SEQPACKET)
        with theirs:
            options = ("--fd", str(theirs.fileno()), "--parent", str(os.getpid()))
            walls = ("--without", *self._limits.without) if self._limits.without else ()
            line = command(self._toolchain, "nursery", *options, *walls)
            process = await Supervised.start(line, environment(self._folder), [theirs.fileno()], self._folder)
        generation = _Generation(process=process, control=ours)
        self._tasks.start_soon(process.drain)
        self._tasks.start_soon(self._listen, generation)
        return generation

    async def _listen(self, generation: _Generation) -> None:
        while data := await sockets.receive_message(generation.control, _MESSAGE_BYTES):
            event: dict[str, Any] = json.loads(data)
            if event["event"] == "ready":
                generation.ready.set()
            elif (pending := generation.jobs.get(event["job"])) is not None:
                pending.report = event
                pending.ended.set()
        self._retire(generation)
        await generation.process.wait()
        generation.control.close()
        generation.ready.set()
        for pending in generation.jobs.values():
            pending.ended.set()

    def _retire(self, generation: _Generation) -> None:
        generation.dead = True
        generation.process.kill()


async def _receive(talk: _Talk) -> None:
    """Gather frames until the child is done; frames that are not right, or too many, are an error of the job."""
    limits = _TRACE_LIMITS if isinstance(talk.request, TraceRequest) else _ARRAY_LIMITS
    expected = len(talk.request.cases) if isinstance(talk.request, InterpretRequest) else 1
    try:
        while not talk.done:
            message = await sockets.receive_frame(talk.sock, limits, talk.nonce)
            if message is None:
                break
            _take(talk, message, expected)
    except WireError as error:
        talk.error = RawError(type_name="WireError", message=str(error), phase="reply")
    finally:
        talk.finished.set()


def _take(talk: _Talk, message: Message, expected: int) -> None:
    if talk.walls is None:
        talk.walls = decode_walls(message)
    elif message.kind == "done":
        talk.error = decode_done(message)
        talk.done = True
    elif len(talk.messages) == expected:
        raise WireError(f"More than the {expected} frames that were asked for.")
    else:
        talk.messages.append(message)


def _roots(request: JobRequest) -> list[str]:
    source = request.source if isinstance(request, ReferenceRequest) else request.kernel
    return list(source.import_roots)


def _outcome(talk: _Talk, report: dict[str, Any]) -> Outcome:
    ending = cast("Ending", report["ending"])
    if talk.done and ending == "exited":
        ending = "completed" if talk.error is None else "raised"
    if talk.error is not None and talk.error.type_name == "MemoryError":
        ending = "out-of-memory"
    child = ChildReport(
        ending=ending,
        exit_code=report["exit_code"],
        signal=report["signal"],
        wall_ms=report["wall_ms"],
        peak_rss_bytes=report["peak_rss_bytes"],
        stdout_tail=report["stdout_tail"],
        stderr_tail=report["stderr_tail"],
        sandbox=talk.walls,
    )
    return Outcome(messages=tuple(talk.messages), child=child, error=talk.error)
