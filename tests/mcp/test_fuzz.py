"""Malformed messages and arguments on real transports: no crash, no traceback, and the server still answers."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maxkernel_lab.registry import TOOLS
from tests.mcp.http_servers import HttpServer
from tests.mcp.servers import RawServer

SEED = 20260728
_METHODS = (
    "tools/call", "tools/list", "resources/read", "resources/list", "prompts/get", "completion/complete",
    "resources/subscribe", "subscriptions/listen", "ping", "initialize", "server/discover", "nothing/here", "",
)  # fmt: skip
# Tools that start no work: each of thousands of calls must be cheap.
_CHEAP = ("describe_environment", "list_tasks", "get_job", "get_run", "list_runs", "compile_kernel", "nope")
_KEYS = ("name", "arguments", "uri", "_meta", "ref", "argument", "cursor", "protocolVersion", "capabilities", "x")


def _value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(10 if depth < 4 else 7)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([0, -1, 1 << 63, -(1 << 70), 1e308, -0.0, rng.random()])
    if kind <= 5:
        return rng.choice(
            ["", "x", "\x00", "../../etc/passwd", "v9", "ſ𝔘\u202e", "a" * 300, "{{x}}", "%n%s", "8p_GEMM"]
        )
    if kind == 6:
        return rng.choice(
            ["maxkernel://runs/%2e%2e/x", "maxkernel://tasks/../..", "file:///etc/passwd", "maxkernel://"]
        )
    if kind <= 8:
        return {rng.choice(_KEYS): _value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return [_value(rng, depth + 1) for _ in range(rng.randrange(4))]


def _message(rng: random.Random) -> bytes:
    """Return one line: sound but for an argument, broken here or there, or no JSON at all."""
    kind = rng.randrange(10)
    if kind == 0:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(60))).replace(b"\n", b" ").replace(b"\r", b" ")
    message: Any = {"jsonrpc": "2.0", "id": rng.choice([rng.randrange(1000), "a", None, 1.5, [], {}])}
    message["method"] = rng.choice(_METHODS)
    message["params"] = _value(rng)
    if kind <= 5:
        tool = rng.choice(_CHEAP)
        fields = next((list(t.arguments.model_fields) for t in TOOLS if t.name == tool), ["x"]) or ["x"]
        arguments = {rng.choice(fields): _value(rng) for _ in range(rng.randrange(3))}
        # Never a kernel and a workload at once: that would be work, which is tested elsewhere.
        arguments.pop("source", None)
        message |= {"id": rng.randrange(1000), "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    if kind == 6:
        message.pop(rng.choice(["jsonrpc", "id", "method", "params"]))
    if kind == 7:
        message = _value(rng)
    line = json.dumps(message).encode()
    return line[: rng.randrange(len(line) + 1)] if kind == 8 else line


class _Reader(threading.Thread):
    """Reads all a server says, so that its pipe never fills."""

    def __init__(self, server: RawServer) -> None:
        super().__init__(daemon=True)
        self._stdout = server.process.stdout
        self.lines: list[bytes] = []
        self.seen = threading.Event()

    def run(self) -> None:
        assert self._stdout is not None
        for line in self._stdout:
            self.lines.append(line)
            if b'"the-last"' in line:
                self.seen.set()


def _fuzz_stdio(tmp_path: Path, count: int, seconds: float) -> int:
    rng = random.Random(SEED)  # noqa: S311 - no secret
    server = RawServer(tmp_path / "home", tmp_path)
    try:
        server.initialize()
        reader = _Reader(server)
        reader.start()
        assert server.process.stdin is not None
        deadline = time.monotonic() + seconds
        sent = 0
        while sent < count and time.monotonic() < deadline:
            server.process.stdin.write(_message(rng) + b"\n")
            sent += 1
        server.process.stdin.flush()
        server.send({"id": "the-last", "method": "ping"})
        assert reader.seen.wait(60), server.stderr()
        assert server.process.poll() is None
        server.process.stdin.close()
        assert server.process.wait(30) == 0
        reader.join(10)
        assert server.process.stderr is not None
        complaints = server.process.stderr.read()
    finally:
        server.close()
    for line in reader.lines:
        assert json.loads(line)["jsonrpc"] == "2.0"
        assert b"Traceback" not in line
        assert b"site-packages" not in line
        assert b"root:x:" not in line
    assert b'"event": "defect"' not in complaints, complaints[-3000:]
    return sent


def test_ten_thousand_malformed_messages_on_stdio(tmp_path: Path) -> None:
    assert _fuzz_stdio(tmp_path, 10_000, 20) > 500


@pytest.mark.slow
def test_many_more_malformed_messages_on_stdio(tmp_path: Path) -> None:
    assert _fuzz_stdio(tmp_path, 100_000, 60) > 1_000


@pytest.fixture
def http(tmp_path: Path) -> Iterator[HttpServer]:
    running = HttpServer(tmp_path / "home", tmp_path)
    yield running
    running.close()


def test_malformed_messages_over_http(http: HttpServer) -> None:
    rng = random.Random(SEED)  # noqa: S311 - no secret
    status, headers, _ = http.initialize()
    assert status == 200
    session = headers["mcp-session-id"]
    deadline = time.monotonic() + 10
    for number in range(300):
        if time.monotonic() > deadline:
            break
        message = _message(rng)
        if b"subscriptions/listen" in message:
            continue  # its answer is a stream without end
        given = rng.choice([{}, {"Mcp_Session_Id": session}, {"MCP_Protocol_Version": "2026-07-28"}, {"Accept": "x"}])
        status, _, body = http.post(message, **given)
        assert status < 500, (number, message, body)
        assert b"Traceback" not in body
    assert http.request("GET", "/health")[0] == 200
    code, stderr = http.stop()
    assert code == 0
    assert '"event": "defect"' not in stderr
