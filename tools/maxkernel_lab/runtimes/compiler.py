"""The lab's side of the compile service: started lazily, one compile at a time, restarted when it dies.

A service that has grown old or large is replaced.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskGroup

from maxkernel_lab.runtimes.environment import Toolchain, command, environment
from maxkernel_lab.runtimes.watching import Allowance, CompileWatch
from maxkernel_lab.supervision import sockets
from maxkernel_lab.supervision.processes import Supervised, resident_bytes
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.runtime import ChildReport, CompileReply, CompileRequest
from maxkernel_tools.wire import Limits, WireError
from maxkernel_tools.wire.replies import decode_compile_reply
from maxkernel_tools.wire.requests import encode_request

_START_S: Final = 120.0
_ATTEMPTS: Final = 4
_DUMPED_PASSES: Final = (
    r"(final_bundles|post-ra|final_hlo-static-per-bundle-utilization|schedule-analysis_final|TLP-hlo|vmem_report|dedup)"
)


@dataclass(frozen=True)
class ServiceLimits:
    """When a compile service is stopped or replaced.

    Attributes:
        memory_bytes: a compile beyond it is stopped.
        recycle_bytes: a service at rest beyond it is replaced.
        recycle_compiles: likewise after so many compiles. ``recycle_s``: likewise at this age.
        clock_factor: seconds by the clock per second of processor time a compile is allowed; a compile that is given
            little of a busy machine takes long without being at fault.
        standstill_s: a compile that uses no processor time for so long hangs.
    """

    memory_bytes: int = 8 << 30
    recycle_bytes: int = 3 << 30
    recycle_compiles: int = 400
    recycle_s: float = 4 * 3600.0
    clock_factor: float = 5.0
    standstill_s: float = 60.0

    def allowance(self, cpu_s: float) -> Allowance:
        """Return what a compile with ``cpu_s`` of processor time may use."""
        return Allowance(
            cpu_s=cpu_s,
            wall_s=max(cpu_s * self.clock_factor, self.standstill_s),
            standstill_s=self.standstill_s,
            memory_bytes=self.memory_bytes,
        )


@dataclass(frozen=True)
class Compiled:
    """An answer and where its dumps lie until the cache takes them."""

    reply: CompileReply
    dumps: Path | None


@dataclass
class _Service:
    process: Supervised
    sock: socket.socket
    folder: Path
    started: float
    compiles: int = 0


class _ServiceDiedError(Exception):
    def __init__(self, child: ChildReport, log: str) -> None:
        super().__init__(log)
        self.child = child
        self.log = log


@dataclass(frozen=True)
class Writes:
    """What a compile service writes beside its answers; decided when libtpu is loaded."""

    dumps: bool
    passes: bool = False

    def libtpu_arguments(self, folder: Path) -> str:
        """The flags that make libtpu write it under ``folder``."""
        flags: list[str] = []
        if self.dumps:
            flags.append(f"--xla_jf_dump_to={folder / 'dump'} --xla_jf_dump_llo_pass_label_regex={_DUMPED_PASSES}")
        if self.passes:
            flags.append(f"--xla_mosaic_dump_to={folder / 'passes'}")
        return " ".join(flags)


class Compiler:
    """One compile service.

    Args:
        writes: schedule dumps, Mosaic passes, neither or both.
        folder: where service folders go.
        tasks: task group that outlives every call.
    """

    def __init__(
        self, toolchain: Toolchain, folder: Path, tasks: TaskGroup, limits: ServiceLimits, *, writes: Writes
    ) -> None:
        self._toolchain = toolchain
        self._folder = folder
        self._tasks = tasks
        self._limits = limits
        self._writes = writes
        self._service: _Service | None = None
        self._turn = anyio.Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id, where it runs."""
        running = self._service
        return None if running is None or running.process.returncode is not None else running.process.pid

    async def warm(self) -> None:
        """Start the service where it is not running.

        Raises:
            MachineryError: it does not start.
        """
        async with self._turn:
            await self._ready()

    async def compile(self, request: CompileRequest) -> Compiled:
        """Compile; where the service dies of the request the reply says so.

        Raises:
            MachineryError: the service does not start.
        """
        async with self._turn:
            return await self._attempts(request)

    def close(self) -> None:
        """Kill the service; no other is started."""
        self._closed = True
        if self._service is not None:
            self._retire(self._service)

    async def _attempts(self, request: CompileRequest) -> Compiled:
        restarted = False
        for attempt in range(1, _ATTEMPTS + 1):
            service = await self._ready()
            try:
                return await self._once(service, request, restarted=restarted)
            except _ServiceDiedError as died:
                restarted = True
                if not self._is_final(died.child, attempt):
                    self._retire(service)
                else:
                    self._replace(service)
                    reply = CompileReply(
                        child=died.child,
                        ok=False,
                        compile_ms=died.child.wall_ms,
                        restarted=True,
                        crash_log=died.log,
                        versions=self._toolchain.versions,
                    )
                    return Compiled(reply=reply, dumps=None)
        raise MachineryError("The compile service was killed from outside several times in a row.")

    @staticmethod
    def _is_final(child: ChildReport, attempt: int) -> bool:
        """Whether another attempt would tell more.

        Time and memory are the request's own. An abort is believed when a fresh service repeats it. A SIGKILL is
        nothing the compiler does to itself: it was somebody else, so try on.
        """
        if child.ending in ("timed-out", "out-of-memory"):
            return True
        return child.signal != signal.SIGKILL and attempt >= 2

    async def _once(self, service: _Service, request: CompileRequest, *, restarted: bool) -> Compiled:
        nonce = secrets.token_hex(8)
        watch = CompileWatch(service.process, self._limits.allowance(request.cpu_s))
        message = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch.run)
                with contextlib.suppress(OSError, WireError):
                    await sockets.send_frame(service.sock, encode_request(request, nonce))
                    message = await sockets.receive_frame(service.sock, Limits(), nonce)
                tasks.cancel_scope.cancel()
        except BaseException:
            self._replace(service)  # cancelled in the middle of a compile: there is no way to stop it but this
            raise
        if message is None:
            service.process.kill()
            child = watch.report(await service.process.wait())
            raise _ServiceDiedError(child, watch.log())
        service.compiles += 1
        child = watch.report(None)
        reply = replace(
            decode_compile_reply(message, child, None), restarted=restarted, versions=self._toolchain.versions
        )
        dumps = self._take_dumps(service, nonce) if request.dumps or request.passes else None
        self._recycle(service)
        return Compiled(reply=reply, dumps=dumps)

    def _take_dumps(self, service: _Service, nonce: str) -> Path | None:
        """Move a compile's dumps out of the service's folder, which may go before they are read."""
        taken = self._folder / f"dumps-{nonce}"
        try:
            (service.folder / "out" / nonce).rename(taken)
        except FileNotFoundError:
            return None
        return taken

    def _recycle(self, service: _Service) -> None:
        """Replace a service that has grown old or large, in the background."""
        limits = self._limits
        old = time.monotonic() - service.started > limits.recycle_s or service.compiles >= limits.recycle_compiles
        if old or resident_bytes(service.process.pid) > limits.recycle_bytes:
            self._replace(service)

    async def _ready(self) -> _Service:
        service = self._service
        if service is not None and service.process.returncode is None:
            return service
        if service is not None:
            self._retire(service)
        service = self._service = await self._start()
        message = None
        try:
            with anyio.move_on_after(_START_S), contextlib.suppress(OSError, WireError):
                message = await sockets.receive_frame(service.sock, Limits(), None)
        finally:
            if message is None:
                self._retire(service)
        if message is None:
            with anyio.move_on_after(5):
                await service.process.wait()
            raise MachineryError(f"The compile service does not start: {service.process.stderr_since()[-2000:]}")
        return service

    async def _start(self) -> _Service:
        folder = self._folder / f"compiler-{secrets.token_hex(6)}"
        for name in ("dump", "passes", "out"):
            (folder / name).mkdir(parents=True, mode=0o700)
        ours, theirs = sockets.pair()
        with theirs:
            line = command(
                self._toolchain,
                "compile_service",
                *("--fd", str(theirs.fileno()), "--parent", str(os.getpid()), "--folder", str(folder)),
            )
            process = await Supervised.start(
                line, environment(folder, self._writes.libtpu_arguments(folder)), [theirs.fileno()], folder
            )
        service = _Service(process=process, sock=ours, folder=folder, started=time.monotonic())
        self._tasks.start_soon(self._accompany, service)
        return service

    async def _accompany(self, service: _Service) -> None:
        """Read fd 2 to the end, then clear up after the process."""
        await service.process.drain()
        service.sock.close()
        shutil.rmtree(service.folder, ignore_errors=True)

    def _retire(self, service: _Service) -> None:
        service.process.kill()
        if self._service is service:
            self._service = None

    def _replace(self, service: _Service) -> None:
        """Kill ``service`` and start another in the background, so that the next compile need not wait for it."""
        self._retire(service)
        if not self._closed:
            self._tasks.start_soon(self._prepare)

    async def _prepare(self) -> None:
        # The next compile meets the same trouble and reports it; a background task has nobody to tell.
        with contextlib.suppress(MachineryError, OSError):
            await self.warm()
