"""``maxkernel optimize`` over a real server on stdio, killed with -9 at either end, and taken up again."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.end_to_end.commands import environment
from tests.lab.processes import wait_until_gone

pytestmark = [pytest.mark.slow, pytest.mark.toolchain]
if importlib.util.find_spec("libtpu") is None:
    pytest.skip("no TPU compiler here: libtpu is not installed", allow_module_level=True)

_REFERENCE = "import jax.numpy as jnp\n\n\ndef workload(x, s):\n    return jnp.tanh(x) * s\n"
_DEADLINE_S = 400.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "reference.py").write_text(_REFERENCE)
    return folder


def start(home: Path, workspace: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "maxkernel_mcp", "optimize", "--reference", "reference.py"]
    command += ["--input", "f32[512,1024]", "--input", "f32[1024]", "--target", "v6e", "--json"]
    return subprocess.Popen(
        command,
        cwd=workspace,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stages(home: Path) -> list[str]:
    """Every stage any session of the one job has begun."""
    logs = list(home.glob("jobs/j-*/log.jsonl"))
    assert len(logs) <= 1, "the same command made a second job"
    lines = logs[0].read_text().splitlines() if logs else []
    events = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    return [event["stage"] for event in events if event["event"] == "stage"]


def wait_for_stage(home: Path, process: subprocess.Popen[str], stage: str) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while stage not in stages(home):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"never reached {stage}"
        # The other side is a file another process writes: there is nothing to wait on.
        time.sleep(0.05)


def steps(home: Path) -> dict[str, float]:
    """Key and time of every finished step of the one job."""
    (journal,) = home.glob("jobs/j-*/journal.sqlite3")
    with closing(sqlite3.connect(journal)) as connection:
        return dict(connection.execute("SELECT key, created FROM steps").fetchall())


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(text) for text in (task / "children").read_text().split()]
    return found


@pytest.mark.parametrize(
    ("victim", "stage"), [("orchestrator", "test"), ("server", "tune"), ("orchestrator", "verify")]
)
def test_a_kill_leaves_no_process_and_the_same_command_goes_on(
    home: Path, workspace: Path, victim: str, stage: str
) -> None:
    first = start(home, workspace)
    wait_for_stage(home, first, stage)
    pid = first.pid if victim == "orchestrator" else children(first.pid)[0]
    os.kill(pid, signal.SIGKILL)
    first.communicate(timeout=60)
    assert first.returncode != 0
    assert wait_until_gone(str(home)) == []
    finished = steps(home)
    assert finished
    second = start(home, workspace)
    out, err = second.communicate(timeout=_DEADLINE_S)
    assert second.returncode == 0, err
    result = json.loads(out)
    assert result["verdict"] == "correct"
    assert Path(result["kernel_path"]).exists()
    # A step that was finished before the kill is the very same row after it: nothing lost, nothing done again.
    assert finished.items() <= steps(home).items()
    assert len(list(home.glob("jobs/j-*"))) == 1
    assert wait_until_gone(str(home)) == []
