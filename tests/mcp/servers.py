"""Real ``maxkernel serve`` processes: one behind the SDK's client, one spoken to line by line."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters

from tests.lab.processes import python_environment

SERVE = [sys.executable, "-m", "maxkernel_mcp", "serve"]
VERSION = "2025-11-25"


def parameters(home: Path, workspace: Path, **environment: str) -> StdioServerParameters:
    """Return how the SDK's client starts a server."""
    env = python_environment(home, **environment)
    return StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=env, cwd=workspace)


class RawServer:
    """A server spoken to without a client library, so that every byte on stdout is seen."""

    def __init__(self, home: Path, workspace: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            SERVE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=python_environment(home, **environment),
            cwd=workspace,
            start_new_session=True,
        )
        self.lines: list[bytes] = []
        self._buffer = b""
        self._next = 0

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._next += 1
        self.send({"id": self._next, "method": method, "params": params or {}})
        return self._next

    def answer(self, request: int, seconds: float = 60) -> dict[str, Any]:
        """Read until the answer to ``request``."""
        deadline = time.monotonic() + seconds
        while True:
            message = json.loads(self.line(deadline))
            if message.get("id") == request:
                return message

    def line(self, deadline: float) -> bytes:
        assert self.process.stdout is not None
        while b"\n" not in self._buffer:
            ready = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]
            data = self.process.stdout.read1(65536) if ready else b""  # type: ignore[attr-defined]
            assert data, f"the server said nothing more; stderr: {self.stderr()}"
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        self.lines.append(line)
        return line

    def call(self, name: str, arguments: dict[str, Any], seconds: float = 120) -> dict[str, Any]:
        return self.answer(self.request("tools/call", {"name": name, "arguments": arguments}), seconds)["result"]

    def initialize(self) -> dict[str, Any]:
        request = self.request(
            "initialize",
            {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}},
        )
        answer = self.answer(request)
        self.send({"method": "notifications/initialized"})
        return answer["result"]

    def stderr(self) -> str:
        self.process.kill()
        return self.process.communicate()[1].decode(errors="replace")[-3000:]

    def rest(self) -> bytes:
        """Return what is left on stdout after the end of the process."""
        assert self.process.stdout is not None
        return self._buffer + self.process.stdout.read()

    def close(self) -> None:
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        self.process.wait(10)
