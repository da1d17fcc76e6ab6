"""Serve MCP over stdio, or over a socket to a child of ours, and end cleanly whatever ends us.

The SDK reads stdin in a thread that cannot be interrupted, so after a signal the process would wait for the next line:
once the lab is closed and its children are gone, the process ends itself.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

import anyio
import mcp_types as types
import structlog
from anyio.abc import ByteStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings
from maxkernel_mcp.server import build_server
from maxkernel_mcp.tracing import flush_tracing

_logger = structlog.get_logger(__name__)
HARD_EXIT_S: Final = 3.0
"""After a signal, or the end of stdin, the process is gone within this time even if something hangs."""
LAST_ANSWERS_S: Final = 3.0
"""After the end of its input, a server still answers what takes no longer than this."""
MAX_LINE_BYTES: Final = 4 << 20


async def serve_stdio(settings: Settings, task_roots: Sequence[Path]) -> None:
    """Serve one client on stdin and stdout until it goes, or a signal comes.

    Raises:
        MachineryError: the lab's home or store cannot be used.
    """
    ending = _Ending()
    async with anyio.create_task_group() as group:
        async with Lab.open(settings, task_roots, connect=serve_socket) as lab:
            group.start_soon(_note_signal, ending)
            group.start_soon(_serve_client, lab, ending)
            await ending.event.wait()
            arm_hard_exit()
        if ending.by_signal:
            leave()
        group.cancel_scope.cancel()
    leave()


class _Ending:
    """Why serving ends."""

    def __init__(self) -> None:
        self.event = anyio.Event()
        self.by_signal = False


async def _serve_client(lab: Lab, ending: _Ending) -> None:
    try:
        async with stdio_server() as (raw_read, raw_write), _answering(raw_read, raw_write) as (read, write):
            server = build_server(lab)
            await server.run(read, write, server.create_initialization_options())
    except* OSError as group:
        # The client died with an answer on its way; there is nobody left to tell.
        _logger.info("client_gone", errors=[str(error) for error in group.exceptions])
    finally:
        ending.event.set()


@asynccontextmanager
async def _answering(read: Any, write: Any) -> AsyncGenerator[tuple[Any, Any]]:
    """Hold back the end of the input until what was asked is answered, for a moment: the SDK drops it otherwise.

    Whoever pipes requests into the server closes its input after the last one and still wants the answers.
    """
    asked: set[types.RequestId] = set()
    answered, drained = anyio.Event(), anyio.Event()
    incoming_in, incoming_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing_in, outgoing_out = anyio.create_memory_object_stream[SessionMessage](0)

    async def forward_in() -> None:
        nonlocal answered
        async with incoming_in:
            async for item in read:
                if isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCRequest):
                    asked.add(item.message.id)
                await incoming_in.send(item)
            with anyio.move_on_after(LAST_ANSWERS_S):
                while asked:
                    answered = anyio.Event()
                    await answered.wait()

    async def forward_out() -> None:
        async with outgoing_out:
            async for item in outgoing_out:
                await write.send(item)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError) and item.message.id is not None:
                    asked.discard(item.message.id)
                    answered.set()
        drained.set()

    # The transport beneath ends when its writing side is closed, as the SDK's server would do itself.
    async with read, write, anyio.create_task_group() as group:
        group.start_soon(forward_in)
        group.start_soon(forward_out)
        yield incoming_out, outgoing_in
        await outgoing_in.aclose()
        with anyio.move_on_after(LAST_ANSWERS_S):
            await drained.wait()
        group.cancel_scope.cancel()


async def serve_stream(server: Server[Any], stream: ByteStream) -> None:
    """Serve one connection over a byte stream, e.g. a socket to an orchestrator, until the other side closes it."""
    async with message_streams(stream) as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def serve_socket(lab: Lab, sock: socket.socket) -> None:
    """Serve ``lab`` on a connected non-blocking socket, to an orchestrator that is a child of ours."""
    await serve_stream(build_server(lab), _SocketStream(sock))


class _SocketStream(ByteStream):
    """A plain socket as a byte stream, on any anyio back end."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    async def receive(self, max_bytes: int = 65536) -> bytes:
        while True:
            try:
                data = self._sock.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._sock)
                continue
            except OSError:
                data = b""
            if not data:
                raise anyio.EndOfStream
            return data

    async def send(self, item: bytes) -> None:
        view = memoryview(item)
        while view:
            try:
                view = view[self._sock.send(view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._sock)
            except OSError:
                raise anyio.BrokenResourceError from None

    async def send_eof(self) -> None:
        self._sock.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        self._sock.close()


@asynccontextmanager
async def message_streams(stream: ByteStream) -> AsyncGenerator[tuple[Any, Any]]:
    """Frame a byte stream as MCP does on stdio: one JSON message per line."""
    incoming_in, incoming_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing_in, outgoing_out = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with incoming_in:
            buffer = b""
            while True:
                try:
                    buffer += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    await incoming_in.send(_parsed(line))
                if len(buffer) > MAX_LINE_BYTES:
                    return

    async def write() -> None:
        async with outgoing_out:
            async for message in outgoing_out:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await stream.send(line.encode() + b"\n")
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async with stream, anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        yield incoming_out, outgoing_in
        group.cancel_scope.cancel()


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _note_signal(ending: _Ending) -> None:
    await signal_comes()
    ending.by_signal = True
    ending.event.set()


async def signal_comes() -> None:
    """Wait for SIGTERM or SIGINT."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            return


def arm_hard_exit(seconds: float = HARD_EXIT_S, *, code: int = 0) -> None:
    """Make sure the process ends; its children die with it (they ask the kernel for that)."""
    timer = threading.Timer(seconds, os._exit, args=(code,))
    timer.daemon = True
    timer.start()


def leave(code: int = 0) -> NoReturn:
    """End the process now that everything of the lab is closed, without the interpreter's own farewells on stderr."""
    flush_tracing()
    sys.stderr.flush()
    os._exit(code)
