"""A real ``maxkernel serve --http`` process, and requests to it without a client library."""

from __future__ import annotations

import http.client
import json
import re
import select
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.lab.processes import python_environment
from tests.mcp.servers import SERVE

MODERN = "2026-07-28"
LEGACY = "2025-11-25"


class HttpServer:
    """The process, its URL, and plain requests."""

    def __init__(self, home: Path, workspace: Path, *flags: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*SERVE, "--http", *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=python_environment(home, **environment),
            cwd=workspace,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        ready = select.select([self.process.stdout], [], [], 60)[0]
        line = self.process.stdout.readline().decode() if ready else ""
        found = re.search(r"http://(\S+):(\d+)/mcp", line)
        if found is None:
            self.process.kill()
            raise AssertionError(f"said {line!r}; stderr: {self.process.communicate()[1].decode()[-2000:]}")
        self.host, self.port = found[1], int(found[2])
        self.url = found[0]

    def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one request and return status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
            for name, value in given.items():
                connection.putheader(name, value)
            if body and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, message: Any, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Post a JSON-RPC message as a client of the older era does."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        return self.request("POST", "/mcp", data, given | {k.replace("_", "-"): v for k, v in headers.items()})

    def initialize(self, **headers: str) -> tuple[int, dict[str, str], bytes]:
        return self.post(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": LEGACY,
                    "capabilities": {},
                    "clientInfo": {"name": "plain", "version": "0"},
                },
            },
            **headers,
        )

    def stop(self, seconds: float = 20) -> tuple[int, str]:
        """Send SIGTERM; return exit code and stderr."""
        self.process.terminate()
        began = time.monotonic()
        try:
            error = self.process.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            self.close()
            raise
        assert time.monotonic() - began < seconds
        return self.process.returncode, error.decode(errors="replace")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
