"""Many clients at once over HTTP: every answer right, nobody left out, nothing that grows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.http_servers import HttpServer

CLIENTS = 50


def _resident_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def _open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_fifty_clients_are_served_alike_and_nothing_grows(portal: BlockingPortal, tmp_path: Path, mode: Any) -> None:
    server = HttpServer(tmp_path / "home", tmp_path)
    pid = server.process.pid
    served = [0] * CLIENTS

    async def one(number: int, until: float) -> None:
        async with (
            httpx2.AsyncClient(timeout=60) as http,
            Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
        ):
            while time.monotonic() < until:
                limit = number % 7 + 1
                result = await client.call_tool("list_tasks", {"limit": limit})
                assert len(result.structured_content["tasks"]) == limit
                served[number] += 1

    async def round_of(seconds: float) -> None:
        until = time.monotonic() + seconds
        async with anyio.create_task_group() as group:
            for number in range(CLIENTS):
                group.start_soon(one, number, until)

    try:
        portal.call(round_of, 10.0)
        files, memory = _open_files(pid), _resident_kb(pid)
        served[:] = [0] * CLIENTS
        portal.call(round_of, 15.0)
        assert min(served) >= 1
        assert max(served) <= 5 * min(served) + 5, served
        assert _resident_kb(pid) - memory < 60_000
        assert _open_files(pid) - files < 20
        code, stderr = server.stop()
        assert code == 0
        assert "Traceback" not in stderr
    finally:
        server.close()
