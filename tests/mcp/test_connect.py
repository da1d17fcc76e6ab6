"""``maxkernel connect``: real bridges, by HTTP and by (a stand-in for) ssh, in both eras; and when the lab goes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from maxkernel_mcp.connecting import parse_place
from maxkernel_tools.errors import MisuseError
from tests.lab.processes import python_environment, wait_until_gone
from tests.mcp.http_servers import HttpServer

TOKEN = "a-token-for-the-bridge-test"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("lab")
    (folder / "token").write_text(TOKEN)
    (folder / "token").chmod(0o600)
    running = HttpServer(folder / "home", folder, "--token-file", str(folder / "token"))
    running.token_file = str(folder / "token")  # type: ignore[attr-defined]
    yield running
    running.close()


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    """A folder with an ``ssh`` that runs the command here, as a shell on the other side would."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "ssh"
    script.write_text(
        "#!/bin/sh\n"
        "for last; do :; done\n"
        'case "$*" in *no-such-host*) echo "ssh: Could not resolve hostname no-such-host" >&2; exit 255;; esac\n'
        'exec sh -c "$last"\n'
    )
    script.chmod(0o755)
    return folder


def _bridge(tmp_path: Path, *arguments: str, path: Path | None = None) -> StdioServerParameters:
    env = python_environment(tmp_path / "home")
    if path is not None:
        env["PATH"] = f"{path}{os.pathsep}{env['PATH']}"
    return StdioServerParameters(
        command=sys.executable, args=["-m", "maxkernel_mcp", "connect", *arguments], env=env, cwd=tmp_path
    )


async def _use(server: StdioServerParameters, mode: Any) -> Any:
    heard: list[str] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async with Client(stdio_client(server), mode=mode) as client:
        assert len((await client.list_tools()).tools) >= 12
        assert (await client.read_resource("maxkernel://chips/v6e")).contents
        assert (await client.get_prompt("planner", {"task": "8p_GEMM"})).messages
        result = await client.call_tool("lookup_docs", {"query": "BlockSpec"}, progress_callback=listen)
        assert heard
        return result.structured_content


@pytest.mark.toolchain
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_lab_over_http_is_used_like_one_here(
    portal: BlockingPortal, lab: HttpServer, tmp_path: Path, mode: str
) -> None:
    server = _bridge(tmp_path, lab.url, "--token-file", lab.token_file)  # type: ignore[attr-defined]
    assert portal.call(_use, server, mode)["entries"][0]["name"] == "pl.BlockSpec"
    assert not (tmp_path / "home").exists(), "a bridge needs no lab here"


@pytest.mark.toolchain
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_lab_over_ssh_is_used_like_one_here(portal: BlockingPortal, ssh: Path, tmp_path: Path, mode: str) -> None:
    remote = f"'{sys.executable}' -m maxkernel_mcp serve"
    server = _bridge(tmp_path, "ssh:me@lab-host", "--remote-command", remote, path=ssh)
    assert portal.call(_use, server, mode)["passages"]


def _raw(tmp_path: Path, *arguments: str, path: Path | None = None) -> subprocess.Popen[bytes]:
    given = _bridge(tmp_path, *arguments, path=path)
    return subprocess.Popen(
        [given.command, *given.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=given.env,
        cwd=tmp_path,
        start_new_session=True,
    )


def _ask(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> None:
    assert process.stdin is not None
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["http://127.0.0.1:9/mcp"], "connect"),
        (["ssh:no-such-host"], "Could not resolve hostname"),
    ],
    ids=["http", "ssh"],
)
def test_a_lab_that_is_not_there_is_said_to_the_client_and_on_stderr(
    ssh: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    process = _raw(tmp_path, *arguments, path=ssh)
    try:
        _ask(process, 1, "initialize", _HELLO)
        assert process.wait(60) == 3
        assert process.stdout is not None
        assert process.stderr is not None
        answers = [json.loads(line) for line in process.stdout.read().splitlines()]
        said = process.stderr.read().decode()
    finally:
        process.kill()
    assert words in said
    assert "Traceback" not in said
    assert all(arguments[0] in answer["error"]["message"] for answer in answers)


def test_a_wrong_token_is_said(lab: HttpServer, tmp_path: Path) -> None:
    process = _raw(tmp_path, lab.url)
    try:
        assert process.wait(60) == 3
        assert process.stderr is not None
        assert "--token-file" in process.stderr.read().decode()
    finally:
        process.kill()


@pytest.mark.toolchain
def test_a_lab_lost_in_a_call_is_answered_for(ssh: Path, tmp_path: Path) -> None:
    remote = f"'{sys.executable}' -m maxkernel_mcp serve --home '{tmp_path / 'remote'}'"
    process = _raw(tmp_path, "ssh:lab", "--remote-command", remote, path=ssh)
    try:
        _ask(process, 1, "initialize", _HELLO)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["id"] == 1
        endless = "def workload(x):\n    while True:\n        pass\n"
        arguments = {"source": endless, "inputs": ["f32[8,128]"]}
        _ask(
            process, 2, "tools/call", {"name": "compile_kernel", "arguments": arguments, "_meta": {"progressToken": 1}}
        )
        assert json.loads(process.stdout.readline())["method"] == "notifications/progress"
        for pid in _servers(tmp_path / "remote"):
            os.kill(pid, signal.SIGKILL)
        lines = [json.loads(line) for line in process.stdout]
        assert process.wait(60) == 3
    finally:
        process.kill()
    answer = next(line for line in lines if line.get("id") == 2)
    assert "ssh:lab" in answer["error"]["message"]
    assert wait_until_gone(str(tmp_path / "remote")) == []


def _servers(home: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"serve" in words and str(home).encode() in words:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("end", ["eof", "term", "kill"])
def test_it_ends_with_its_client_and_takes_ssh_along(ssh: Path, tmp_path: Path, end: str) -> None:
    remote = f"'{sys.executable}' -m maxkernel_mcp serve --home '{tmp_path / 'remote'}'"
    process = _raw(tmp_path, "ssh:lab", "--remote-command", remote, path=ssh)
    try:
        _ask(process, 1, "initialize", _HELLO)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["id"] == 1
        if end == "eof":
            assert process.stdin is not None
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM if end == "term" else signal.SIGKILL)
        process.wait(30)
        assert wait_until_gone(str(tmp_path / "remote")) == []
    finally:
        process.kill()


@pytest.mark.parametrize(
    "place",
    ["", "ftp://x", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "http://", "http://me:pw@x/", "lab", "http://x:y/"],
)
def test_what_is_no_place_is_refused(place: str) -> None:
    with pytest.raises(MisuseError):
        parse_place(place)


def test_a_token_does_not_travel_in_the_clear() -> None:
    with pytest.raises(MisuseError, match="in the clear"):
        parse_place("http://lab.example:8080/mcp", token=TOKEN)
    for place in ("https://lab.example", "http://127.0.0.1:80", "http://[::1]:80"):
        assert parse_place(place, token=TOKEN).url.endswith("/mcp")
    assert TOKEN not in repr(parse_place("https://lab.example", token=TOKEN))
