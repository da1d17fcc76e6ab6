"""Toolchains: names and specs that are refused, the record on disk, and one made of an environment that exists."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_lab.runtimes.local import LocalRuntime
from maxkernel_lab.toolchains.installing import add_toolchain
from maxkernel_lab.toolchains.stored import (
    Stored,
    keep_toolchain,
    list_toolchains,
    load_toolchain,
    remove_toolchain,
    toolchains_folder,
)
from maxkernel_mcp.cli import main
from maxkernel_tools.errors import MachineryError, MisuseError
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import CompileRequest, TraceRequest
from tests.lab.runtimes.kernels import GEMM


async def quiet(done: float, total: float | None, message: str) -> None:
    del done, total, message


def add(home: Path, *specs: str, name: str = "") -> Stored:
    return anyio.run(add_toolchain, home, specs, quiet, name)


def recorded(home: Path, name: str) -> Stored:
    folder = toolchains_folder(home) / name
    folder.mkdir(parents=True)
    found = Stored(name=name, specs=("jax==1",), python=sys.executable, versions={"jax": "1"}, lacks=("something",))
    keep_toolchain(folder, found)
    return found


@pytest.mark.parametrize(
    "specs",
    [
        ("libtpu==0.0.17",),
        ("jax==0.6.2", "--index-url=x"),
        ("jax @ git+https://example.org/jax",),
        ("-rrequirements.txt",),
        ("./no/such/folder",),
        ("jax;os.system",),
    ],
)
def test_what_is_neither_requirements_nor_an_environment_is_refused(tmp_path: Path, specs: tuple[str, ...]) -> None:
    with pytest.raises(MisuseError):
        add(tmp_path, *specs)
    assert list_toolchains(tmp_path) == ()


@pytest.mark.parametrize("name", ["default", "../up", "", ".hidden", "a" * 65, "a/b"])
def test_names_that_cannot_be_folders_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(MisuseError):
        remove_toolchain(tmp_path, name)
    assert load_toolchain(tmp_path, name) is None


def test_a_recorded_toolchain_is_found_listed_and_removed(tmp_path: Path) -> None:
    found = recorded(tmp_path, "old")
    assert list_toolchains(tmp_path) == (found,)
    loaded = load_toolchain(tmp_path, "old")
    assert loaded is not None
    assert (loaded.python, loaded.lacks) == (Path(sys.executable), ("something",))
    with pytest.raises(MisuseError, match="already"):
        add(tmp_path, "jax==0.6.2", name="old")
    assert remove_toolchain(tmp_path, "old") == found
    assert list_toolchains(tmp_path) == ()
    assert not (toolchains_folder(tmp_path) / "old").exists()


def test_a_damaged_record_is_no_toolchain(tmp_path: Path) -> None:
    recorded(tmp_path, "old")
    (toolchains_folder(tmp_path) / "old" / "toolchain.json").write_text('{"name": "old"')
    assert load_toolchain(tmp_path, "old") is None
    assert list_toolchains(tmp_path) == ()


def test_an_interpreter_without_jax_leaves_nothing_behind(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(0o755)
    with pytest.raises(MachineryError):
        add(tmp_path / "home", str(bare), name="bare")
    assert list_toolchains(tmp_path / "home") == ()
    assert [path.name for path in toolchains_folder(tmp_path / "home").iterdir()] == [".lock"]


def test_the_command_lists_the_installed_one_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path, "old")
    assert main(["toolchain", "list", "--json", "--home", str(tmp_path)]) == 0
    listed = json.loads(capsys.readouterr().out)["toolchains"]
    assert [each["name"] for each in listed] == ["default", "old"]
    assert main(["toolchain", "remove", "none", "--home", str(tmp_path)]) == 2


@pytest.mark.toolchain
def test_an_existing_environment_compiles_and_is_left_alone_when_removed(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    made = add(tmp_path, sys.executable, name="again")
    assert {"jax", "jaxlib", "libtpu"} <= set(made.versions)

    async def both() -> list[bool]:
        async with LocalRuntime(tmp_path) as runtime:
            trace = TraceRequest(
                kernel=KernelSource(text=GEMM),
                inputs=(ArraySpec.parse("bf16[256,256]"),) * 2,
                params={"block": 128},
                targets=(Target.V5E,),
                toolchain="again",
            )
            exported = (await runtime.trace(trace)).exported[Target.V5E]
            replies = [
                await runtime.compile(CompileRequest(exported, Target.V5E, dumps=False, toolchain=name))
                for name in ("again", "default")
            ]
        assert all(reply.ok for reply in replies)
        return [reply.cached for reply in replies]

    assert portal.call(both) == [False, True], "the same versions answer for one another"
    remove_toolchain(tmp_path, "again")
    assert Path(sys.executable).exists()
