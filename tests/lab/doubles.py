"""A scripted runtime: answers traces when the test lets it, and notes what was cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

from maxkernel_tools.errors import MachineryError
from maxkernel_tools.runtime import (
    ChildReport,
    CompileReply,
    CompileRequest,
    InterpretReply,
    InterpretRequest,
    ReferenceReply,
    ReferenceRequest,
    TraceReply,
    TraceRequest,
)


class ScriptedRuntime:
    """Its ``trace`` waits for ``gate``; everything else fails as the lab's own fault."""

    def __init__(self) -> None:
        self.gate = anyio.Event()
        self.entered = anyio.Event()
        self.cancelled = 0
        self.closed = 0
        self.error: Exception | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[ScriptedRuntime]:
        yield self
        self.closed += 1

    async def trace(self, request: TraceRequest) -> TraceReply:
        self.entered.set()
        try:
            await self.gate.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return TraceReply(child=ChildReport(ending="completed"))

    async def compile(self, request: CompileRequest) -> CompileReply:
        raise MachineryError("not scripted")

    async def interpret(self, request: InterpretRequest) -> InterpretReply:
        raise MachineryError("not scripted")

    async def reference(self, request: ReferenceRequest) -> ReferenceReply:
        raise MachineryError("not scripted")

    async def versions(self) -> Mapping[str, str]:
        return {}
