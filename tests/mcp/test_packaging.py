"""The ``.mcpb`` bundle, ``server.json`` and the Dockerfile: complete, of the published form, the same each time."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from maxkernel_lab.registry import TOOLS
from maxkernel_mcp import __version__
from tests.lab.processes import REPO
from tests.mcp.node_tools import node, node_modules


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("maxkernel_packaging", REPO / "packaging" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(build: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build.build(tmp_path_factory.mktemp("dist"))


def test_the_manifest_says_what_is_in_the_bundle(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as archive:
        names = set(archive.namelist())
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
    assert manifest["manifest_version"] == "0.4"
    assert manifest["version"] == __version__
    assert manifest["server"]["type"] == "uv"
    assert manifest["server"]["entry_point"] in names
    assert [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in TOOLS]
    assert len(manifest["prompts"]) == 8
    for prompt in manifest["prompts"]:
        assert set(re.findall(r"\$\{arguments\.(\w+)\}", prompt["text"])) == set(prompt["arguments"])
    # Every ${user_config.X} that a command uses is one that is asked for.
    used = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"])))
    assert used == set(manifest["user_config"])
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".", "tests/"))]
    for name in ("maxkernel_mcp/prompts/planner.md", "tools/maxkernel_tools/docs/guide/dma.md"):
        assert name in names


def test_the_same_checkout_gives_the_same_bytes(build: ModuleType, built: tuple[Path, Path], tmp_path: Path) -> None:
    again = build.build(tmp_path)
    digests = [[hashlib.sha256(path.read_bytes()).hexdigest() for path in pair] for pair in (built, again)]
    assert digests[0] == digests[1]


def test_the_bundle_runs_from_where_it_is_unpacked(built: tuple[Path, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(built[0]) as archive:
        archive.extractall(tmp_path / "bundle")
    roots = [str(tmp_path / "bundle" / part) for part in ("", "tools", "orchestrators")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(roots), "MAXKERNEL_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-P", "-m", "maxkernel_mcp", "tasks", "list", "--limit", "200", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60, check=True)
    assert json.loads(done.stdout)["total"] >= 50


def test_the_registrys_entry_has_the_published_form(built: tuple[Path, Path]) -> None:
    entry = json.loads(built[1].read_text())
    assert entry["$schema"].endswith("/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100
    assert entry["version"] == __version__
    (package,) = entry["packages"]
    assert (package["registryType"], package["identifier"], package["version"]) == (
        "pypi",
        "maxkernel-mcp",
        __version__,
    )
    assert package["transport"] == {"type": "stdio"}
    for argument in package["packageArguments"] + package["runtimeArguments"]:
        assert argument["type"] in {"positional", "named"}
        assert ("name" in argument) if argument["type"] == "named" else ("value" in argument)
    # The registry proves the owner of a package by this mark in its description.
    assert f"<!-- mcp-name: {entry['name']} -->" in (REPO / "README.md").read_text()


def test_the_container_holds_a_lab_and_asks_for_a_token() -> None:
    lines = (REPO / "packaging" / "Dockerfile").read_text().splitlines()
    (base,) = [line for line in lines if line.startswith("FROM ")]
    assert "--platform=linux/amd64" in base
    copied = {word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]}
    assert {"pyproject.toml", "maxkernel_mcp", "tools", "orchestrators", "jaxbench", "constraints"} <= copied
    assert all((REPO / name).exists() for name in copied)
    command = json.loads(next(line for line in lines if line.startswith("CMD [")).removeprefix("CMD "))
    assert command[:2] == ["serve", "--http"]
    assert "--token-file" in command
    assert "USER lab" in lines


def test_the_publishers_own_tool_accepts_the_bundle(built: tuple[Path, Path], tmp_path: Path) -> None:
    tool = node_modules() / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
    with zipfile.ZipFile(built[0]) as archive:
        archive.extract("manifest.json", tmp_path)
    command = [node(), str(tool), "validate", str(tmp_path / "manifest.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
