"""What a running server tells whoever operates it, and that it tells its client nothing it should not."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

from tests.lab.processes import python_environment
from tests.mcp.servers import SERVE, RawServer

SECRET = "s3cret-in-an-argument"


def _serve(tmp_path: Path, *flags: str, cwd: Path | None = None, **environment: str) -> tuple[list[dict], str]:
    """Run a server over a short conversation; return its answers and stderr."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    calls = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "list_tasks", "arguments": {"query": SECRET}}},
        {"id": 3, "method": "tools/call", "params": {"name": "compile_kernel", "arguments": {"path": "/etc/passwd"}}},
    ]
    done = subprocess.run(
        [*SERVE, *flags],
        input="".join(json.dumps({"jsonrpc": "2.0", **call}) + "\n" for call in calls),
        capture_output=True,
        text=True,
        env=python_environment(tmp_path / "home", **environment),
        cwd=cwd or tmp_path,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_events_are_json_with_request_ids_and_no_arguments(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    _, stderr = _serve(tmp_path, "--log-level", "info", "--log-file", str(log))
    events = [json.loads(line) for line in log.read_text().splitlines()]
    called = [event for event in events if event["event"] == "tool_called"]
    assert {(event["tool"], event["request_id"]) for event in called} == {("list_tasks", "2"), ("compile_kernel", "3")}
    assert all({"timestamp", "level", "took_ms", "run_id"} <= set(event) for event in called)
    assert SECRET not in log.read_text()
    assert stderr == ""


def test_a_log_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    command = [*SERVE, "--log-file", str(tmp_path / "absent" / "x.log")]
    env = python_environment(tmp_path / "home")
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 2
    assert "--log-file" in done.stderr


@pytest.mark.parametrize("cwd", [Path("/")], ids=["root"])
def test_started_in_the_root_folder_it_opens_nothing_but_its_home(tmp_path: Path, cwd: Path) -> None:
    answers, _ = _serve(tmp_path, cwd=cwd)
    refusal = next(answer for answer in answers if answer.get("id") == 3)["result"]
    assert refusal["isError"]
    assert "outside the allowed folders" in refusal["content"][0]["text"]
    assert "root:x:" not in json.dumps(answers)


@pytest.mark.skipif(importlib.util.find_spec("opentelemetry.sdk") is not None, reason="the otel extra is installed")
def test_tracing_without_its_packages_is_said_and_the_server_serves(tmp_path: Path) -> None:
    answers, stderr = _serve(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert len(answers) == 3
    assert "maxkernel-mcp[otel]" in stderr


@pytest.mark.skipif(importlib.util.find_spec("opentelemetry.sdk") is None, reason="the otel extra is not installed")
def test_spans_go_where_they_are_sent_and_never_to_stdout(tmp_path: Path) -> None:
    answers, stderr = _serve(tmp_path, OTEL_TRACES_EXPORTER="console")
    assert len(answers) == 3
    assert "tools/call list_tasks" in stderr


def test_nothing_is_said_on_stdout_before_the_first_request(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "home", tmp_path)
    try:
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(30) == 0
        assert server.rest() == b""
    finally:
        server.close()
