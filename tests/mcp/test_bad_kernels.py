"""Bad input through a real server: a clear finding in bounded time, and the server goes on serving."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.servers import RawServer

pytestmark = pytest.mark.toolchain

_FLOOD = "def workload(x):\n    while True:\n        print('x' * 10_000)\n"
# The limit shows as a MemoryError in the kernel, or as the end of its process, whichever comes first.
_GREEDY = "def workload(x):\n    held = []\n    while True:\n        held.append(bytearray(1 << 26))\n"
_OK = "def workload(x):\n    return x + 1\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    folder: Path = tmp_path_factory.mktemp("bad")
    raw = RawServer(folder / "home", folder)
    raw.initialize()
    yield raw
    raw.close()


@pytest.mark.parametrize(
    ("source", "codes"),
    [
        ("def workload(x:\n    return x\n", "syntax-error"),
        ("def something(x):\n    return x\n", "missing-entry"),
        ("import nothing_of_this_name\n" + _OK, "import-error"),
        ("def workload(x, y):\n    return x @ y\n", "trace-error"),
        ("def workload(x):\n    return x.reshape(7, 3)\n", "trace-error"),
        ("import os\n\ndef workload(x):\n    os._exit(3)\n", "process-exited"),
        ("import sys\n\ndef workload(x):\n    sys.exit(0)\n", "process-exited"),
        (_FLOOD, "output-flood"),
        (_GREEDY, "out-of-memory trace-error"),
    ],
)
def test_a_bad_kernel_is_a_finding_and_the_server_goes_on(server: RawServer, source: str, codes: str) -> None:
    result = server.call("compile_kernel", {"source": source, "inputs": ["f32[8,128]"]})["structuredContent"]
    assert (result["ok"], result["state"]) == (False, "done"), result["summary"]
    found = [finding["code"] for finding in result["findings"] if finding["severity"] == "error"]
    assert set(codes.split()) & set(found)
    assert server.call("list_tasks", {"limit": 1})["structuredContent"]["ok"]


def test_prints_of_a_kernel_stay_out_of_the_protocol(server: RawServer) -> None:
    source = "import os\nprint('hello')\nos.write(1, b'raw')\n" + _OK
    result = server.call("compile_kernel", {"source": source, "inputs": ["f32[8,128]"]})["structuredContent"]
    assert result["state"] == "done"
    assert all(line.startswith(b"{") for line in server.lines)


@pytest.mark.slow
def test_a_kernel_that_never_ends_is_timed_out(server: RawServer) -> None:
    source = "def workload(x):\n    while True:\n        pass\n"
    answer = server.call("compile_kernel", {"source": source, "inputs": ["f32[8,128]"]})["structuredContent"]
    for _ in range(3):
        if answer["state"] != "running":
            break
        job = server.call("get_job", {"job_id": answer["job_id"], "wait_s": 40})["structuredContent"]
        answer = job["result"] or answer
    assert "timed-out" in {finding["code"] for finding in answer["findings"]}
