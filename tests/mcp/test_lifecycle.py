"""How a server ends: EOF, TERM, INT, KILL; what it leaves behind (nothing); and that stdout holds only the protocol."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.processes import processes_mentioning, wait_until_gone
from tests.mcp.servers import RawServer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def server(home: Path, tmp_path: Path) -> Iterator[RawServer]:
    raw = RawServer(home, tmp_path)
    yield raw
    raw.close()


def test_stdout_holds_the_protocol_and_nothing_else(server: RawServer) -> None:
    server.initialize()
    server.call("list_tasks", {"limit": 2})
    server.call("compile_kernel", {"source": "print('x')", "task": "no such task"})
    assert server.process.stdin is not None
    server.process.stdin.write(b"this is not json\n\xff\xfe\n[]\n{}\n")
    server.process.stdin.flush()
    server.call("list_tasks", {"limit": 1})
    server.process.stdin.close()
    assert server.process.wait(30) == 0
    lines = [*server.lines, *server.rest().splitlines()]
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in lines)


def test_the_end_of_stdin_ends_it_and_answers_what_was_asked(server: RawServer) -> None:
    server.initialize()
    answer = server.call("describe_environment", {})
    assert answer["structuredContent"]["summary"]
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_stdin_is_open(server: RawServer, number: signal.Signals) -> None:
    server.initialize()
    server.process.send_signal(number)
    assert server.process.wait(30) == 0


def test_a_signal_before_the_handshake_ends_it(server: RawServer) -> None:
    request = server.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
    server.answer(request)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0


@pytest.mark.toolchain
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_stays_behind(server: RawServer, home: Path, number: signal.Signals) -> None:
    server.initialize()
    assert server.call("get_task", {"task": "8p_GEMM"})["structuredContent"]["reference_graph"]
    family = processes_mentioning(str(home))
    assert server.process.pid in family
    assert len(family) > 1, "the worker should be running"
    server.process.send_signal(number)
    server.process.wait(30)
    assert wait_until_gone(str(home)) == []


@pytest.mark.toolchain
def test_the_record_survives_the_death_of_the_server(server: RawServer, home: Path, tmp_path: Path) -> None:
    server.initialize()
    first = server.call("get_task", {"task": "8p_GEMM"})["structuredContent"]
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait(30)
    again = RawServer(home, tmp_path)
    try:
        again.initialize()
        run = again.call("get_run", {"run_id": first["run_id"]})["structuredContent"]
        assert {artifact["uri"] for artifact in run["artifacts"]} == {art["uri"] for art in first["artifacts"]}
    finally:
        again.close()


def test_a_home_that_cannot_be_used_is_said_on_stderr(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    raw = RawServer(blocked, tmp_path)
    try:
        assert raw.process.wait(30) == 3
        assert raw.process.stderr is not None
        assert b"cannot be used" in raw.process.stderr.read()
        assert raw.rest() == b""
    finally:
        raw.close()
