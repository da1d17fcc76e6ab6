"""A real HTTP server that speaks OpenAI's chat protocol, streaming, and misbehaves as it is told. No network."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Turn:
    """What one request gets.

    Attributes:
        text: the answer. ``tool``: a tool it calls instead.
        status: of an error instead of an answer. ``code``: the error's name. ``headers``: what comes with it.
        stop: why the model ended. ``cut``: end the stream after half the words. ``hang``: never answer.
        garbage: a body that is not of the protocol.
        usage: tokens in and out, as the last chunk tells.
    """

    text: str = ""
    tool: str = ""
    status: int = 200
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    stop: str = "stop"
    cut: bool = False
    hang: bool = False
    garbage: bool = False
    usage: tuple[int, int] = (100, 20)


@dataclass
class ModelServer:
    """The running server.

    Attributes:
        url: what ``openai:MODEL@URL`` takes.
        turns: what the next requests get; when it is empty, a 500.
        requests: bodies of the requests so far. ``keys``: their authorisation.
    """

    url: str
    turns: deque[Turn] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def model_server(*turns: Turn) -> Iterator[ModelServer]:
    """Serve ``turns`` until the test is over."""
    holder: list[ModelServer] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None: ...

        def do_POST(self) -> None:
            server = holder[0]
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.requests.append(body)
            server.keys.append(self.headers.get("authorization", ""))
            turn = server.turns.popleft() if server.turns else Turn(status=500)
            if turn.hang:
                server.released.wait(30)
                self.close_connection = True
            elif turn.status != 200:
                self._error(turn)
            elif turn.garbage:
                self._whole(200, b"<html>gateway says hello</html>", "text/html", {})
            else:
                self._stream(turn)

        def _error(self, turn: Turn) -> None:
            error = {
                "error": {"message": f"status {turn.status}", "code": turn.code or None, "type": turn.code or None}
            }
            self._whole(turn.status, json.dumps(error).encode(), "application/json", turn.headers)

        def _whole(self, status: int, data: bytes, kind: str, headers: dict[str, str]) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, turn: Turn) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            if turn.tool:
                call = {
                    "index": 0,
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": turn.tool, "arguments": "{}"},
                }
                self._chunk({"role": "assistant", "tool_calls": [call]})
            else:
                words = [turn.text[at : at + 20] for at in range(0, len(turn.text), 20)]
                for word in words[: len(words) // 2] if turn.cut else words:
                    self._chunk({"role": "assistant", "content": word})
            if turn.cut:
                return
            self._chunk({}, "tool_calls" if turn.tool else turn.stop)
            tokens_in, tokens_out = turn.usage
            told = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
            usage = {**told, "total_tokens": tokens_in + tokens_out}
            self._line({**_HEAD, "choices": [], "usage": usage})
            self.wfile.write(b"data: [DONE]\n\n")

        def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> None:
            self._line({**_HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

        def _line(self, record: dict[str, Any]) -> None:
            self.wfile.write(b"data: " + json.dumps(record).encode() + b"\n\n")
            self.wfile.flush()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running = ModelServer(f"http://127.0.0.1:{server.server_address[1]}/v1", deque(turns))
    holder.append(running)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.released.set()
        server.shutdown()
        thread.join(5)
        server.server_close()


_HEAD: dict[str, Any] = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
