"""Long work over a real server: cancelled calls, optimisations as children, and what is left after kill -9."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.processes import processes_mentioning, wait_for_end, wait_until_gone
from tests.mcp.servers import RawServer

_ENDLESS = "def workload(x):\n    while True:\n        pass\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def server(home: Path, tmp_path: Path) -> Iterator[RawServer]:
    raw = RawServer(home, tmp_path, MAXKERNEL_SERVER_HANDOVER_S="1")
    raw.initialize()
    yield raw
    raw.close()


def _wait(server: RawServer, job_id: str, rounds: int = 10) -> dict:
    for _ in range(rounds):
        job = server.call("get_job", {"job_id": job_id, "wait_s": 40})["structuredContent"]
        if job["job_state"] != "running":
            break
    return job


def _descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = {int(text) for text in (task / "children").read_text().split()}
        except OSError:
            continue
        for child in children:
            found |= {child, *_descendants(child)} if Path(f"/proc/{child}").exists() else set()
    return found


@pytest.mark.toolchain
def test_a_kernel_that_never_ends_is_cancelled_with_its_processes(server: RawServer) -> None:
    _wait(server, _handed_over(server, {"task": "12p_RMSNorm"}, "get_task"))
    before = _descendants(server.process.pid)
    job_id = _handed_over(server, {"source": _ENDLESS, "inputs": ["f32[8,128]"]}, "compile_kernel")
    working = _descendants(server.process.pid) - before
    assert working, "the endless kernel should have a process"
    cancelled = server.call("cancel_job", {"job_id": job_id})["structuredContent"]
    assert cancelled["job_state"] == "cancelled"
    assert all(wait_for_end(pid, 10) for pid in working)
    assert server.call("list_tasks", {"limit": 1})["structuredContent"]["ok"]


def _handed_over(server: RawServer, arguments: dict, tool: str) -> str:
    """Call a tool that takes longer than the hand-over and return its job."""
    answer = server.call(tool, arguments)["structuredContent"]
    if answer["state"] != "running":
        pytest.skip(f"{tool} was done within a second")
    assert answer["ok"] is None
    return answer["job_id"]


@pytest.mark.toolchain
def test_a_cancelled_request_ends_its_processes(home: Path, tmp_path: Path) -> None:
    raw = RawServer(home, tmp_path)
    try:
        raw.initialize()
        raw.call("get_task", {"task": "12p_RMSNorm"})
        before = _descendants(raw.process.pid)
        request = raw.request(
            "tools/call",
            {
                "name": "compile_kernel",
                "arguments": {"source": _ENDLESS, "inputs": ["f32[8,128]"]},
                "_meta": {"progressToken": "p"},
            },
        )
        # The heartbeat comes after five quiet seconds: by then the kernel has its process.
        while b"notifications/progress" not in raw.line(_soon()):
            pass
        working = _descendants(raw.process.pid) - before
        raw.send({"method": "notifications/cancelled", "params": {"requestId": request}})
        assert all(wait_for_end(pid, 15) for pid in working)
        assert raw.call("list_tasks", {"limit": 1})["structuredContent"]["ok"]
    finally:
        raw.close()


def _soon() -> float:
    return time.monotonic() + 60


@pytest.mark.toolchain
def test_an_optimisation_is_a_child_that_dies_with_the_server_and_is_taken_up_again(
    server: RawServer, home: Path, tmp_path: Path
) -> None:
    started = server.call("start_optimization", {"task": "12p_RMSNorm", "budget": 1})["structuredContent"]
    assert started["job_state"] == "running", started["summary"]
    job_id = started["job_id"]
    assert any(job_id in _command(pid) for pid in processes_mentioning(str(home)))
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(30)
    assert wait_until_gone(str(home)) == []
    again = RawServer(home, tmp_path)
    try:
        again.initialize()
        job = again.call("get_job", {"job_id": job_id})["structuredContent"]
        assert job["job_state"] == "interrupted"
        assert again.call("resume_job", {"job_id": job_id})["structuredContent"]["job_state"] == "running"
        assert again.call("cancel_job", {"job_id": job_id})["structuredContent"]["job_state"] == "cancelled"
        assert not any(job_id in _command(pid) for pid in processes_mentioning(job_id))
        again.process.send_signal(signal.SIGTERM)
        assert again.process.wait(30) == 0
        assert wait_until_gone(str(home)) == []
    finally:
        again.close()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.slow
@pytest.mark.toolchain
def test_an_interrupted_optimisation_ends_with_a_verified_kernel(home: Path, tmp_path: Path) -> None:
    first = RawServer(home, tmp_path)
    first.initialize()
    job_id = first.call("start_optimization", {"task": "12p_RMSNorm", "budget": 1})["structuredContent"]["job_id"]
    first.call("get_job", {"job_id": job_id, "wait_s": 20})
    first.close()
    assert wait_until_gone(str(home)) == []
    second = RawServer(home, tmp_path)
    try:
        second.initialize()
        second.call("resume_job", {"job_id": job_id})
        job = _wait(second, job_id, rounds=20)
        assert (job["job_state"], job["ok"]) == ("done", True), job["summary"]
        assert job["best"]["verdict"] == "correct"
        assert job["best"]["time_source"] == "schedule-model"
    finally:
        second.close()
