"""The official conformance suite and the Inspector, where their npm packages are (``scripts/conformance``)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.processes import python_environment
from tests.mcp.node_tools import node, node_modules
from tests.mcp.servers import SERVE

# Scored scenarios of 2026-07-28 that want fixture tools which ask the client in the middle of a call, in ways no tool
# of ours does; the SDK's own tests hold that part of it.
NOT_OFFERED = "input-required-result-"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    node_modules()
    home = tmp_path_factory.mktemp("home")
    command = [sys.executable, "-m", "tests.mcp.conformance_server", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=python_environment(home), text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_official_suite_passes(url: str, version: str, tmp_path: Path) -> None:
    suite = node_modules() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [node(), str(suite), "server", "--url", url, "--requirements", version]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    output = done.stdout + done.stderr
    summary, _, unscored = output.partition("=== SUMMARY ===")[2].partition("Not scored for")
    passed = re.findall(r"✓ (\S+): \d+ passed", summary)
    failed = set(re.findall(r"✗ (\S+): \d+ passed", summary)) - set(re.findall(r"✗ (\S+) \(", unscored))
    assert len(passed) >= 25, output[-3000:]
    assert {name for name in failed if not name.startswith(NOT_OFFERED)} == set(), output[-6000:]


def _inspect(home: Path, era: str, *arguments: str) -> Any:
    launcher = node_modules() / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    env = python_environment(home / "home")
    # The Inspector hands no variable of its own on to a server.
    given = [part for name in ("PYTHONPATH", "MAXKERNEL_HOME") for part in ("-e", f"{name}={env[name]}")]
    patient = ["--connect-timeout", "120000"]  # its own 15 s are short on a busy machine
    strict = ["--strict"] if "tools/list" in arguments else []
    how = [*patient, "--protocol-era", era, *strict, "-q"]
    command = [node(), str(launcher), "--cli", *given, *SERVE, *how, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=home, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
def test_the_inspector_finds_nothing_to_complain_about(tmp_path: Path, era: str, method: str) -> None:
    assert _inspect(tmp_path, era, "--method", method)


KERNEL = """\
import jax
from jax.experimental import pallas as pl


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="twice")(x)
"""


@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_session_through_the_inspector_alone_ends_with_a_verified_profiled_kernel(tmp_path: Path, era: str) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "r.py").write_text("def workload(x):\n    return 2.0 * x\n")

    def call(name: str, *arguments: str) -> Any:
        given = [part for argument in arguments for part in ("--tool-arg", argument)]
        return _inspect(tmp_path, era, "--method", "tools/call", "--tool-name", name, *given)["structuredContent"]

    assert call("list_tasks", "query=gemm")["tasks"]
    where = ("path=k.py", 'inputs=["f32[64,512]"]')
    compiled = call("compile_kernel", *where)
    assert compiled["ok"], compiled["summary"]
    judged = call("test_kernel", *where, "reference_path=r.py")
    assert judged["verdict"] == "correct", judged["summary"]
    profiled = call("profile_kernel", *where, "reference_path=r.py")
    assert profiled["time_source"] == "schedule-model"
    assert call("get_run", f"run_id={profiled['run_id']}")["stages"]
