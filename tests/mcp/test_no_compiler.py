"""A machine without libtpu: everything installs and starts, and says where a lab can run.

The environment is a real one: a folder of links to everything installed here but jax and libtpu, and an interpreter
that looks nowhere else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.lab.processes import REPO

_LEFT_OUT = ("jax", "libtpu", "maxkernel")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.lower().lstrip("_").startswith(_LEFT_OUT) and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    return folder


def _run(packages: Path, tmp_path: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    roots = [str(REPO / part) for part in ("", "tools", "orchestrators")]
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(packages), *roots]),
        "MAXKERNEL_HOME": str(tmp_path / "home"),
    }
    return subprocess.run(
        [sys.executable, "-S", "-m", "maxkernel_mcp", *arguments],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
        timeout=120,
        check=False,
        input=stdin,
    )


def test_the_environment_says_where_a_lab_can_run(packages: Path, tmp_path: Path) -> None:
    shell = _run(packages, tmp_path, "env", "--json")
    report = json.loads(shell.stdout)
    assert report["ok"] is False
    assert "libtpu" in report["summary"]
    assert "maxkernel-mcp[lab]" in report["summary"]
    assert report["targets"] == []
    assert "jax" not in report["versions"]


def test_compiling_fails_as_the_labs_limit_not_the_kernels(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("def workload(x):\n    return x\n")
    shell = _run(packages, tmp_path, "compile", "k.py", "--input", "f32[8,128]", "--json")
    result = json.loads(shell.stdout)
    assert shell.returncode == 3
    assert (result["ok"], result["state"]) == (False, "failed")
    assert result["findings"][0]["code"] == "lab-unavailable"
    assert "maxkernel-mcp[lab]" in result["summary"]


def test_tasks_are_listed_and_the_doctor_has_the_cure(packages: Path, tmp_path: Path) -> None:
    assert "8p_GEMM" in _run(packages, tmp_path, "tasks", "list").stdout
    doctor = _run(packages, tmp_path, "doctor")
    assert doctor.returncode == 1
    assert "maxkernel-mcp[lab]" in doctor.stdout


def test_the_server_answers(packages: Path, tmp_path: Path) -> None:
    messages = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "0"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "describe_environment", "arguments": {}}},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    shell = _run(packages, tmp_path, "serve", stdin=text)
    assert shell.returncode == 0, shell.stderr
    answers = {json.loads(line).get("id"): json.loads(line) for line in shell.stdout.splitlines()}
    assert answers[1]["result"]["serverInfo"]["name"] == "maxkernel"
    # Asked just before the end of the input, and answered all the same.
    assert "libtpu" in answers[2]["result"]["structuredContent"]["summary"]
