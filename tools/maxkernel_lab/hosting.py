"""The lab's runtime, started when first needed: opened and closed in one task of its own.

A server must answer ``initialize`` and ``tools/list`` at once; importing jax takes seconds and is done by the runtime's
own processes, only when a call needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import anyio
import structlog

from maxkernel_lab.platforms import versions
from maxkernel_tools.errors import MachineryError

if TYPE_CHECKING:
    from maxkernel_tools.records.verdicts import SandboxReport
    from maxkernel_tools.runtime import (
        CompileReply,
        CompileRequest,
        InterpretReply,
        InterpretRequest,
        ReferenceReply,
        ReferenceRequest,
        Runtime,
        TraceReply,
        TraceRequest,
    )

RuntimeOpener = Callable[[], "AbstractAsyncContextManager[Runtime]"]
_START_S = 60.0
_logger = structlog.get_logger(__name__)


class HostedRuntime:
    """A ``Runtime`` that starts the one behind it at the first request.

    Args:
        opener: opens the runtime behind it.

    Attributes:
        sandbox: the walls that stood around the newest job, once there was one.
    """

    def __init__(self, opener: RuntimeOpener) -> None:
        self._opener = opener
        self._needed = anyio.Event()
        self._settled = anyio.Event()
        self._over = anyio.Event()
        self._runtime: Runtime | None = None
        self._error: MachineryError | None = None
        self.sandbox: SandboxReport | None = None

    async def host(self) -> None:
        """Open the runtime when it is needed and keep it until ``release``; run as a task of the lab.

        A runtime that fails is reported to whoever waits for it and opened anew at the next request.
        """
        while True:
            await self._needed.wait()
            if self._over.is_set():
                return
            try:
                async with self._opener() as runtime:
                    self._runtime = runtime
                    self._settled.set()
                    await self._over.wait()
            except MachineryError as error:
                self._error = error
            except Exception:
                _logger.exception("runtime_failed")
                self._error = MachineryError("The lab's worker failed; see the server's log.")
            finally:
                self._runtime = None
                self._settled.set()
                self._needed, self._settled = anyio.Event(), anyio.Event()
            if self._over.is_set():
                return

    def release(self) -> None:
        """Let ``host`` close the runtime and return."""
        self._over.set()
        self._needed.set()

    async def _get(self) -> Runtime:
        if self._runtime is not None:
            return self._runtime
        settled = self._settled
        self._error = None
        self._needed.set()
        with anyio.move_on_after(_START_S):
            await settled.wait()
        if self._runtime is None:
            raise self._error or MachineryError("The lab's worker did not start in time.")
        return self._runtime

    @property
    def started(self) -> Runtime | None:
        """The runtime behind it, once it runs."""
        return self._runtime

    async def trace(self, request: TraceRequest) -> TraceReply:
        """See ``Runtime.trace``."""
        reply = await (await self._get()).trace(request)
        self.sandbox = reply.child.sandbox or self.sandbox
        return reply

    async def compile(self, request: CompileRequest) -> CompileReply:
        """See ``Runtime.compile``."""
        return await (await self._get()).compile(request)

    async def interpret(self, request: InterpretRequest) -> InterpretReply:
        """See ``Runtime.interpret``."""
        reply = await (await self._get()).interpret(request)
        self.sandbox = reply.child.sandbox or self.sandbox
        return reply

    async def reference(self, request: ReferenceRequest) -> ReferenceReply:
        """See ``Runtime.reference``."""
        return await (await self._get()).reference(request)

    async def versions(self) -> Mapping[str, str]:
        """Return versions without starting anything."""
        return versions()
