"""Blocking frames over a socket, for worker processes."""

from __future__ import annotations

import socket

from maxkernel_tools.wire import Limits, Message, WireError, encode, reading


class Channel:
    """One end of a job's private socket.

    Args:
        sock: a blocking stream socket.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def send(self, message: Message) -> None:
        """Send a frame.

        Raises:
            OSError: the other side is gone.
        """
        for buffer in encode(message):
            self._socket.sendall(buffer)

    def receive(self, limits: Limits | None = None, nonce: str | None = None) -> Message | None:
        """Receive a frame, or None at the end of the stream.

        Raises:
            WireError: the bytes are no frame, or the stream ended inside one.
        """
        parser = reading(limits or Limits(), nonce)
        size = next(parser)
        first = True
        try:
            while True:
                data = self._exactly(size, first=first)
                if data is None:
                    return None
                first = False
                size = parser.send(data)
        except StopIteration as done:
            message: Message = done.value
            return message

    def _exactly(self, size: int, *, first: bool) -> bytearray | None:
        data = bytearray(size)
        view = memoryview(data)
        got = 0
        while got < size:
            count = self._socket.recv_into(view[got:])
            if count == 0:
                if first and got == 0:
                    return None
                raise WireError("The stream ended inside a frame.")
            got += count
        return data
