"""A machine without libtpu wheels: everything installs, and says where a lab can run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.commands import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the package and its core dependencies, without the lab extra."""
    folder = tmp_path_factory.mktemp("bare")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    constraints = ROOT / f"constraints/python{version}.txt"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--constraint", str(constraints), str(ROOT)]
    subprocess.run(pip, check=True, timeout=600)
    return folder


def run(bare: Path, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [str(bare / "bin/maxkernel"), *arguments],
        env={**environment, "MAXKERNEL_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_the_environment_says_where_a_lab_can_run(bare: Path, tmp_path: Path) -> None:
    done = run(bare, tmp_path, "env", "--json")
    answer = json.loads(done.stdout)
    assert "maxkernel-mcp[lab]" in json.dumps(answer)
    assert done.returncode == 1, done.stderr


def test_tasks_can_be_read(bare: Path, tmp_path: Path) -> None:
    done = run(bare, tmp_path, "tasks", "list", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"] >= 50


def test_compiling_is_a_failure_of_the_machine_not_of_the_kernel(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("def workload(x):\n    return x\n")
    done = run(bare, tmp_path, "compile", "k.py", "--input", "f32[8,128]", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 3
    assert answer["state"] == "failed"
    assert "maxkernel-mcp[lab]" in json.dumps(answer)
