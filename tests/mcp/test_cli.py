"""The ``maxkernel`` command as a real process: the MCP result on stdout, exit codes, and what a person sees."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maxkernel_lab.jobs import JobFolder
from maxkernel_mcp.cli import main
from tests.lab.processes import python_environment, wait_until_gone
from tests.mcp.servers import RawServer

KERNEL = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

PARAMS = {"ROWS": 8}


def _double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x, ROWS=8):
    return pl.pallas_call(
        _double,
        grid=(x.shape[0] // ROWS,),
        in_specs=[pl.BlockSpec((ROWS, x.shape[1]), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((ROWS, x.shape[1]), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        name="double",
    )(x)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    (folder / "work").mkdir()
    (folder / "work" / "k.py").write_text(KERNEL)
    (folder / "work" / "broken.py").write_text("def workload(x:\n    return x\n")
    return folder


def _run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "maxkernel_mcp", *arguments],
        capture_output=True,
        text=True,
        env=python_environment(place / "home"),
        cwd=place / "work",
        timeout=240,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[RawServer]:
    raw = RawServer(place / "home", place / "work")
    raw.initialize()
    yield raw
    raw.close()


def _steady(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without what differs between two calls: times of the machine, and whether the cache answered."""
    text = json.loads(json.dumps(result))
    text["took_ms"] = 0
    for target in text.get("targets", []):
        if isinstance(target, dict):
            target["compile_ms"] = target["cached"] = 0
    return text


@pytest.mark.toolchain
def test_json_is_exactly_the_mcp_tools_structured_result(place: Path, server: RawServer) -> None:
    arguments = ["--input", "f32[64,128]", "--target", "v5e", "--target", "v6e", "--param", "ROWS=16"]
    shell = _run(place, "compile", "k.py", *arguments, "--json")
    assert shell.returncode == 0, shell.stderr
    call = {"path": "k.py", "inputs": ["f32[64,128]"], "targets": ["v5e", "v6e"], "params": {"ROWS": 16}}
    over_mcp = server.call("compile_kernel", call)["structuredContent"]
    assert _steady(json.loads(shell.stdout)) == _steady(over_mcp)
    assert [target["target"] for target in over_mcp["targets"]] == ["v5e", "v6e"]
    assert over_mcp["targets"][0]["pallas_calls"][0]["grid"] == [4]


@pytest.mark.toolchain
def test_a_broken_kernel_is_a_no_with_the_line(place: Path) -> None:
    shell = _run(place, "compile", "broken.py", "--input", "f32[8,128]", "--json")
    assert shell.returncode == 1
    finding = json.loads(shell.stdout)["findings"][0]
    assert (finding["code"], finding["line"], finding["file"]) == ("syntax-error", 1, "broken.py")
    person = _run(place, "compile", "broken.py", "--input", "f32[8,128]")
    assert person.returncode == 1
    assert "broken.py:1" in person.stdout
    assert "[syntax-error]" in person.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compile", "absent.py", "--task", "8p_GEMM"], "does not exist"),
        (["compile", "k.py", "--task", "8p_GEM"], "8p_GEMM"),
        (["compile", "k.py"], "Neither a task nor inputs"),
        (["compile", "k.py", "--input", "f32[8]", "--param", "ROWS"], "NAME=VALUE"),
        (["compile", "k.py", "--input", "f32[8]", "--target", "v9"], "tpu7x"),
        (["compile", "k.py", "--no-such-flag"], "unrecognized arguments"),
        (["runs", "show", "r-0"], "Unknown run"),
        (["verify", "r-0"], "Unknown run"),
        (["jobs", "get", "j-0"], "Unknown job"),
        (["runs", "read", "maxkernel://runs/r-0/x"], "No artifact"),
        (["optimize", "8p_GEM"], "8p_GEMM"),
        ([], "VERB"),
    ],
)
def test_misuse_exits_with_2_and_says_what_is_allowed(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(place / "work")
    monkeypatch.setenv("MAXKERNEL_HOME", str(place / "home"))
    try:
        code = main(arguments)
    except SystemExit as stopped:  # argparse leaves this way
        code = stopped.code
    said = capsys.readouterr()
    assert code == 2
    assert words in said.out + said.err


def test_a_named_file_may_lie_anywhere(place: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "broken elsewhere.py"
    elsewhere.write_text("x = 1\n")
    shell = _run(place, "compile", str(elsewhere), "--task", "no such task", "--json")
    assert "no such task" in json.loads(shell.stdout)["summary"]


def test_the_records_are_listed_shown_read_and_exported(place: Path, server: RawServer) -> None:
    run_id = server.call("get_task", {"task": "12p_RMSNorm"})["structuredContent"]["run_id"]
    listed = json.loads(_run(place, "runs", "list", "--kind", "task", "--json").stdout)
    assert run_id in {line["run_id"] for line in listed["runs"]}
    shown = json.loads(_run(place, "runs", "show", run_id, "--json").stdout)
    uri = next(artifact["uri"] for artifact in shown["artifacts"] if artifact["uri"].endswith("reference.py"))
    assert "def workload" in _run(place, "runs", "read", uri).stdout
    target = place / "out.csv"
    assert _run(place, "runs", "export", str(target)).returncode == 0
    with target.open(newline="") as stream:
        assert next(csv.reader(stream))[:4] == ["task", "benchmark", "split", "mode"]


def test_a_person_gets_text_and_tables(place: Path) -> None:
    shell = _run(place, "tasks", "list", "gemm")
    assert shell.returncode == 0
    assert "8p_GEMM" in shell.stdout
    assert "\x1b[" not in shell.stdout
    assert "maxkernel.toml" not in _run(place, "env").stderr


@pytest.mark.toolchain
def test_a_detached_call_goes_on_without_its_shell(place: Path) -> None:
    shell = _run(place, "compile", "k.py", "--input", "f32[32,128]", "--detach", "--json")
    started = json.loads(shell.stdout)
    assert (started["ok"], started["state"]) == (None, "running")
    assert shell.returncode == 0
    assert wait_until_gone(started["job_id"], 120) == []
    folder = JobFolder(place / "home" / "jobs" / started["job_id"])
    assert folder.state() == "done", (folder.path / "log.jsonl").read_text()
    done = json.loads(_run(place, "jobs", "get", started["job_id"], "--json").stdout)
    assert done["result"]["targets"][0]["ok"]
