"""Asynchronous frames and messages over plain non-blocking sockets, on any anyio back end."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import anyio
import anyio.lowlevel

from maxkernel_tools.wire import Limits, Message, WireError, encode, reading

_CHUNK_BYTES = 1 << 20


def pair(kind: socket.SocketKind = socket.SOCK_STREAM) -> tuple[socket.socket, socket.socket]:
    """Return a connected pair: ours non-blocking, theirs blocking."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    ours.setblocking(False)
    return ours, theirs


async def send_frame(sock: socket.socket, message: Message) -> None:
    """Send a frame.

    Raises:
        OSError: the other side is gone.
    """
    for buffer in encode(message):
        view = memoryview(buffer)
        while view:
            try:
                sent = sock.send(view[:_CHUNK_BYTES])
            except BlockingIOError:
                await anyio.wait_writable(sock)
                continue
            view = view[sent:]
            await anyio.lowlevel.checkpoint()


async def receive_frame(sock: socket.socket, limits: Limits, nonce: str | None) -> Message | None:
    """Receive a frame, or None at the end of the stream.

    Raises:
        WireError: the bytes are no frame, or the stream ended inside one.
    """
    parser = reading(limits, nonce)
    size = next(parser)
    first = True
    try:
        while True:
            data = await _exactly(sock, size)
            if len(data) < size:
                if first and not data:
                    return None
                raise WireError("The stream ended inside a frame.")
            first = False
            size = parser.send(data)
    except StopIteration as done:
        message: Message = done.value
        return message


def send_message(sock: socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
    """Send one small whole message and descriptors over a ``SOCK_SEQPACKET`` socket.

    Raises:
        OSError: the other side is gone, or does not read.
    """
    socket.send_fds(sock, [data], list(descriptors))


async def receive_message(sock: socket.socket, size: int) -> bytes:
    """Receive one whole message; empty at the end of the stream."""
    while True:
        try:
            return sock.recv(size)
        except BlockingIOError:
            await anyio.wait_readable(sock)
        except ConnectionError:
            return b""


async def _exactly(sock: socket.socket, size: int) -> bytearray:
    """Read ``size`` bytes, fewer only at the end of the stream."""
    data = bytearray(size)
    view = memoryview(data)
    got = 0
    while got < size:
        try:
            count = sock.recv_into(view[got : got + _CHUNK_BYTES])
        except BlockingIOError:
            await anyio.wait_readable(sock)
            continue
        except ConnectionError:
            count = 0
        if count == 0:
            return data[:got]
        got += count
        await anyio.lowlevel.checkpoint()
    return data
