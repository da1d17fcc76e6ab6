"""Transports to a lab: a server spawned over stdio, or the one that started us on an inherited socket."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.message import SessionMessage

MAX_LINE_BYTES: Final = 8 << 20


@asynccontextmanager
async def spawned(command: Sequence[str]) -> AsyncGenerator[Client, None]:
    """Start a server and connect to it; it ends when its stdin does, however we end."""
    # What a person has to approve is gated here; the server of this job alone need not ask for it a second time.
    environment = {**os.environ, "MAXKERNEL_PARADIGM": "auto"}
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=environment)
    async with Client(parameters) as client:
        yield client


@asynccontextmanager
async def inherited(descriptor: int) -> AsyncGenerator[Client, None]:
    """Connect over a socket whose other end is the lab that started us."""
    async with Client(_socket_transport(socket.socket(fileno=descriptor))) as client:
        yield client


@asynccontextmanager
async def _socket_transport(sock: socket.socket) -> AsyncGenerator[tuple[Any, Any], None]:
    """One JSON message per line, as on stdio."""
    sock.setblocking(False)
    incoming_in, incoming_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing_in, outgoing_out = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with incoming_in:
            buffer = bytearray()
            while True:
                data = await _received(sock)
                if not data:
                    return
                buffer += data
                *lines, rest = bytes(buffer).split(b"\n")
                buffer = bytearray(rest)
                for line in lines:
                    await incoming_in.send(_parsed(line))
                if len(buffer) > MAX_LINE_BYTES:
                    return

    async def write() -> None:
        async with outgoing_out:
            async for message in outgoing_out:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if not await _sent(sock, line.encode() + b"\n"):
                    return

    with sock:
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(write)
            yield incoming_out, outgoing_in
            group.cancel_scope.cancel()


async def _received(sock: socket.socket) -> bytes:
    while True:
        try:
            return sock.recv(1 << 16)
        except BlockingIOError:
            await anyio.wait_readable(sock)
        except OSError:
            return b""


async def _sent(sock: socket.socket, data: bytes) -> bool:
    view = memoryview(data)
    while view:
        try:
            view = view[sock.send(view) :]
        except BlockingIOError:
            await anyio.wait_writable(sock)
        except OSError:
            return False
    return True


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        sys.stderr.write(f"A line from the lab is not a message: {error}\n")
        return error
