"""Candidates that attack: each ends in bounded time with a clear word, touches nothing, and leaves nothing behind.

The suite runs behind all walls and behind each fallback a machine may be left with.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_lab.runtimes.local import LocalLimits, LocalRuntime
from maxkernel_lab.runtimes.nursery import JobLimits
from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import TraceReply, TraceRequest
from tests.lab.runtimes.kernels import plain_with
from tests.lab.runtimes.processes import descendants, eventually

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="libtpu is not installed"),
]

MEMORY_BYTES = 600 << 20
WALLS = {"all walls": (), "fewest walls": ("seccomp", "pid-namespace")}

HEAP = "x = []\nwhile True: x.append(bytearray(8 << 20))"
SHARED = """
import mmap
x = []
for _ in range(60):
    m = mmap.mmap(-1, 16 << 20)
    m.write(b'1' * (16 << 20))
    x.append(m)
while True: pass
"""
BOMB = "import os\nfor _ in range(7): os.fork()\nwhile True: pass"
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(60)
    os._exit(0)
"""
ORPHAN = """
import os, time
if os.fork() == 0:
    os.setsid()
    while True: time.sleep(60)
os._exit(1)
"""
NO_NONCE = """
import os, json
h = json.dumps({'kind': 'done', 'nonce': '', 'body': {}, 'blobs': []}).encode()
os.write(3, b'MKF1' + len(h).to_bytes(4, 'little') + h)
"""


@pytest.fixture(scope="module", params=list(WALLS))
def small(
    request: pytest.FixtureRequest, portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalRuntime]:
    limits = LocalLimits(jobs=JobLimits(memory_bytes=MEMORY_BYTES, output_bytes=1 << 20, without=WALLS[request.param]))
    home = tmp_path_factory.mktemp("small")
    with portal.wrap_async_context_manager(LocalRuntime(home, limits=limits)) as running:
        yield running


@pytest.fixture
def attack(portal: BlockingPortal, small: LocalRuntime) -> Iterator:
    def call(statements: str, timeout_s: float = 20.0) -> TraceReply:
        request = TraceRequest(
            kernel=KernelSource(text=plain_with(statements)),
            inputs=(ArraySpec.parse("f32[128,128]"),),
            targets=(Target.V6E,),
            timeout_s=timeout_s,
        )
        return portal.call(small.trace, request)

    yield call
    assert call("").exported, "the runtime must go on serving"
    nursery = small.processes()["nursery default"]
    eventually(lambda: not descendants(nursery), "children of the nursery are left behind")


@pytest.mark.parametrize(
    ("statements", "endings"),
    [
        ("while True: pass", {"timed-out"}),
        ("import time\nwhile True: time.sleep(60)", {"timed-out"}),
        ("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass", {"timed-out"}),
    ],
)
def test_loops_end_at_the_deadline(attack, statements: str, endings: set[str]) -> None:
    reply = attack(statements, timeout_s=1.0)
    assert reply.child.ending in endings
    assert reply.child.wall_ms < 6000
    assert not reply.exported


@pytest.mark.parametrize("statements", [HEAP, SHARED], ids=["heap", "shared map"])
def test_memory_bombs_run_out_of_memory(attack, statements: str) -> None:
    reply = attack(statements)
    assert reply.child.ending == "out-of-memory"
    assert (reply.child.peak_rss_bytes or 0) < 2 * MEMORY_BYTES


@pytest.mark.parametrize(
    ("statements", "ending"),
    [
        ("import os; os._exit(0)", "exited"),
        ("import os; os._exit(3)", "exited"),
        ("import os; os.abort()", "crashed"),
        ("import ctypes; ctypes.string_at(0)", "crashed"),
        ("while True: print('x' * 1000)", "output-flood"),
        ("import os\nwhile True: os.write(2, b'x' * 65536)", "output-flood"),
    ],
)
def test_other_ends(attack, statements: str, ending: str) -> None:
    reply = attack(statements)
    assert reply.child.ending == ending
    assert len(reply.child.stdout_tail) <= 8192
    assert not reply.exported


@pytest.mark.parametrize("statements", [BOMB, DAEMON, ORPHAN], ids=["bomb", "daemon", "orphan"])
def test_forks_leave_nothing(attack, statements: str) -> None:
    reply = attack(statements, timeout_s=2.0)
    assert reply.child.wall_ms < 8000


@pytest.mark.parametrize(
    "statements",
    [
        "import os; os.write(3, b'garbage' * 1000)",
        NO_NONCE,
        "import os; os.write(3, b'MKF1' + (1 << 31).to_bytes(4, 'little'))",
    ],
    ids=["garbage", "no nonce", "huge"],
)
def test_forged_frames_are_refused(attack, statements: str) -> None:
    reply = attack(statements)
    assert reply.errors[None].type_name == "WireError"
    assert not reply.exported


FORBIDDEN = {
    "home": "open({home!r})",
    "project": "open({project!r})",
    "list": "import os; os.listdir('/')",
    "processes": "import os; os.listdir('/proc')",
    "parent": "import os; open(f'/proc/{{os.getppid()}}/environ')",
    "write": "open({outside!r}, 'w')",
    "package": "import pydantic.v1.main",
    "tasks": "import jaxbench.tasks",
    "network": "import socket; socket.create_connection(('127.0.0.1', {port}), timeout=1)",
    "kill": "import os; os.kill({pid}, 9)",
    "run": "import os; os.execv('/bin/sh', ['sh', '-c', 'true'])",
}


@pytest.mark.parametrize("what", list(FORBIDDEN))
def test_what_is_not_the_jobs_is_out_of_reach(attack, tmp_path: Path, what: str) -> None:
    import os
    import socket

    secret = tmp_path / "secret"
    secret.write_text("s")
    with socket.create_server(("127.0.0.1", 0)) as server:
        statements = FORBIDDEN[what].format(
            home=str(secret),
            project=str(Path(__file__)),
            outside=str(tmp_path / "written"),
            port=server.getsockname()[1],
            pid=os.getpid(),
        )
        (error,) = attack(statements).errors.values()
    assert error.type_name in (
        "PermissionError",
        "ModuleNotFoundError",
        "FileNotFoundError",
        "ProcessLookupError",
        "OSError",
    )
    assert not (tmp_path / "written").exists()


def test_the_environment_holds_nothing_of_the_users(attack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    (error,) = attack("import os\nraise ValueError(sorted(os.environ))").errors.values()
    assert "HOME" in error.message
    assert "SOME_API_KEY" not in error.message


def test_the_job_folder_is_the_jobs_and_goes_with_it(attack, small: LocalRuntime) -> None:
    (error,) = attack("import os\nopen('own', 'w').write('x')\nraise ValueError(os.getcwd())").errors.values()
    assert error.type_name == "ValueError"
    assert not Path(error.message).exists()


def test_threads_are_allowed(attack) -> None:
    assert attack("import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()").exported


def test_a_job_may_not_fill_the_disk(attack) -> None:
    reply = attack("for i in range(10**6): open(f'f{i}', 'w').close()")
    assert reply.child.ending == "output-flood"
    reply = attack("with open('f', 'wb') as f:\n  while True: f.write(b'x' * (1 << 20))")
    assert not reply.exported
