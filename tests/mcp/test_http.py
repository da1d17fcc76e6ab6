"""Streamable HTTP over real sockets: who may connect, how much they may ask, several clients at once, both eras."""

from __future__ import annotations

import contextlib
import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from maxkernel_lab.budget import RESULT_BYTES
from maxkernel_mcp.http import Access, Limits
from maxkernel_mcp.http.gate import Gate
from maxkernel_tools.errors import MisuseError
from tests.lab.processes import python_environment, wait_until_gone
from tests.mcp.http_servers import HttpServer
from tests.mcp.servers import SERVE

TOKEN = "a-secret-token-of-this-test"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - never listened on: it must be refused


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    running = HttpServer(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("work space"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, token_file: Path) -> Iterator[HttpServer]:
    home = tmp_path_factory.mktemp("home")
    running = HttpServer(
        home, home, "--token-file", str(token_file), "--allow-host", "lab.example", "--log-level", "debug"
    )
    yield running
    running.close()


def _run(url: str, mode: Any, work: Any, token: str = "") -> Any:
    async def session() -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await work(client)

    return session()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_real_client_uses_tools_resources_and_prompts(portal: BlockingPortal, server: HttpServer, mode: str) -> None:
    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert "lookup_docs" in {tool.name for tool in tools}
        result = await client.call_tool("list_tasks", {"limit": 3})
        assert len(result.structured_content["tasks"]) == 3
        assert len(result.content[0].text.encode()) < RESULT_BYTES
        wrong = await client.call_tool("list_tasks", {"limmit": 3})
        assert wrong.is_error
        assert "limit" in wrong.content[0].text
        outside = await client.call_tool("compile_kernel", {"path": "../../etc/passwd", "task": "8p_GEMM"})
        assert outside.is_error
        assert (await client.read_resource("maxkernel://guide/dma")).contents[0].text.startswith("# DMA")
        assert len((await client.list_prompts()).prompts) == 8

    portal.call(lambda: _run(server.url, mode, work))


def test_health_needs_no_token_and_tells_nothing(guarded: HttpServer) -> None:
    status, _, body = guarded.request("GET", "/health")
    assert (status, set(json.loads(body))) == (200, {"status", "name", "version"})


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
def test_without_the_token_nothing_is_served(guarded: HttpServer, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    status, answer, body = guarded.initialize(**headers)
    assert status == 401
    assert answer["www-authenticate"].startswith("Bearer")
    assert TOKEN.encode() not in body
    assert guarded.request("GET", "/mcp", headers=headers)[0] == 401
    assert guarded.request("DELETE", "/mcp", headers=headers)[0] == 401


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_with_the_token_everything_is(portal: BlockingPortal, guarded: HttpServer, mode: str) -> None:
    async def work(client: Client) -> bool:
        return (await client.call_tool("describe_environment", {})).structured_content["summary"] != ""

    assert portal.call(lambda: _run(guarded.url, mode, work, TOKEN))


def test_pages_of_other_origins_and_other_names_are_refused(server: HttpServer, guarded: HttpServer) -> None:
    assert server.initialize(Host="evil.example")[0] == 421
    assert server.initialize(Host="127.0.0.1.evil.example:80")[0] == 421
    assert server.initialize(Origin="https://evil.example")[0] == 403
    assert server.initialize(Origin="null")[0] == 403
    assert server.initialize(Origin=f"http://localhost:{server.port}")[0] == 200
    assert server.request("GET", "/health", headers={"Host": "evil.example"})[0] == 421
    bearing = {"Authorization": f"Bearer {TOKEN}"}
    assert guarded.initialize(Host="lab.example", Origin="https://lab.example", **bearing)[0] == 200


def test_bodies_are_limited_whether_announced_or_not(server: HttpServer) -> None:
    status, _, _ = server.request(
        "POST", "/mcp", b"{}", {"Content-Type": "application/json", "Content-Length": str(1 << 30)}
    )
    assert status == 413
    try:
        status, _, _ = server.post(b" " * (5 << 20))
    except (BrokenPipeError, ConnectionResetError):
        status = 413  # it answered and hung up while we were still sending
    assert status == 413
    assert server.initialize()[0] == 200


def test_malformed_requests_get_an_answer_without_a_traceback(server: HttpServer) -> None:
    for body in (
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"jsonrpc":"2.0"}',
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1,"method":"initialize"}',
    ):
        status, _, answer = server.post(body)
        assert status < 500, body
        assert b"error" in answer, body
        assert b"Traceback" not in answer
        assert b"site-packages" not in answer
    status, _, _ = server.request("POST", "/mcp", b"{}", {"Content-Type": "text/plain"})
    assert 400 <= status < 500
    assert server.request("GET", "/nothing")[0] == 404
    assert server.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, Mcp_Session_Id="unknown")[0] == 404


async def _finished(client: Client, called: Any) -> Any:
    """Return a call's structured result; on a busy machine it becomes a job, which is waited for."""
    content = called.structured_content
    for _ in range(10):
        if content["state"] != "running":
            break
        job = await client.call_tool("get_job", {"job_id": content["job_id"], "wait_s": 30})
        content = job.structured_content["result"] or content
    return content


@pytest.mark.toolchain
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_clients_at_once_each_get_their_own(portal: BlockingPortal, server: HttpServer, mode: str) -> None:
    kernel = (
        "import jax\nfrom jax.experimental import pallas as pl\n\ndef body(x, o):\n    o[...] = x[...] * {n}.0\n\n"
        "def workload(x):\n    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), "
        'name="times_{n}")(x)\n'
    )
    answers: dict[int, tuple[Any, list[str]]] = {}

    async def one(number: int) -> None:
        heard: list[str] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            heard.append(message or "")

        async def work(client: Client) -> Any:
            arguments = {"source": kernel.format(n=number), "inputs": ["f32[8,128]"]}
            return await _finished(
                client, await client.call_tool("compile_kernel", arguments, progress_callback=listen)
            )

        answers[number] = (await _run(server.url, mode, work), heard)

    async def together() -> None:
        async with anyio.create_task_group() as group:
            for number in (2, 3, 4):
                group.start_soon(one, number)

    portal.call(together)
    assert len({content["run_id"] for content, _ in answers.values()}) == 3
    for number, (content, _) in answers.items():
        assert content["ok"], content["summary"]
        assert [call["name"] for call in content["targets"][0]["pallas_calls"]] == [f"times_{number}"]


def test_the_token_is_in_no_log(guarded: HttpServer) -> None:
    guarded.initialize(Authorization="Bearer wrong-and-secret-too")
    code, stderr = guarded.stop()
    assert code == 0
    assert TOKEN not in stderr
    assert "wrong-and-secret-too" not in stderr
    events = [json.loads(line) for line in stderr.splitlines()]
    assert any(event["event"] == "http_refused" and event["status"] == 401 for event in events)


def test_other_addresses_need_a_token(tmp_path: Path, token_file: Path) -> None:
    def serve(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [*SERVE, "--http", *flags]
        env = python_environment(tmp_path / "home")
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60, check=False)

    refused = serve("--host", EVERYWHERE)
    assert refused.returncode == 2
    assert "--token-file" in refused.stderr
    open_file = tmp_path / "open"
    open_file.write_text(TOKEN)
    open_file.chmod(0o644)
    readable = serve("--host", EVERYWHERE, "--token-file", str(open_file))
    assert readable.returncode == 2
    assert "chmod 600" in readable.stderr
    assert TOKEN not in readable.stderr
    short = tmp_path / "short"
    short.write_text("abc")
    short.chmod(stat.S_IRUSR)
    assert serve("--token-file", str(short)).returncode == 2
    assert serve("--port", "70000").returncode == 2
    assert serve("--host", "no-such-host.invalid", "--token-file", str(token_file)).returncode == 2


def test_names_that_look_local_are_not_trusted() -> None:
    for host in (EVERYWHERE, "::", "localhost.example", "10.0.0.1", "lab"):
        with pytest.raises(MisuseError, match="token"):
            Access(host=host).checked()
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        assert Access(host=host).checked().host == host
    assert TOKEN not in repr(Access(token=TOKEN))


async def _status(gate: Gate, *, host: str = "127.0.0.1", path: str = "/mcp", address: str = "1.1.1.1") -> int:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "path": path, "headers": [(b"host", host.encode())], "client": (address, 1)}
    await gate(scope, receive, send)
    return sent[0]["status"]


def test_rates_are_per_address_and_recover(portal: BlockingPortal) -> None:
    now = [0.0]

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def scenario() -> list[int]:
        gate = Gate(inner, Access(), Limits(requests_per_s=1, burst=3), clock=lambda: now[0])
        seen = [await _status(gate) for _ in range(5)]
        seen.append(await _status(gate, address="2.2.2.2"))
        now[0] = 2.0
        seen += [await _status(gate) for _ in range(3)]
        return seen

    assert portal.call(scenario) == [200, 200, 200, 429, 429, 200, 200, 200, 429]


def test_a_wrong_token_costs_so_that_guessing_is_slow(portal: BlockingPortal) -> None:
    async def inner(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("served without the token")

    async def scenario() -> list[int]:
        gate = Gate(inner, Access(token=TOKEN), Limits(requests_per_s=1, burst=63), clock=lambda: 0.0)
        return [await _status(gate) for _ in range(5)]

    assert portal.call(scenario) == [401, 401, 401, 429, 429]


@pytest.mark.toolchain
def test_it_ends_on_a_signal_with_open_streams_and_leaves_nothing(portal: BlockingPortal, tmp_path: Path) -> None:
    home = tmp_path / "home"
    running = HttpServer(home, tmp_path)
    answered: list[bool] = []
    try:

        async def work(client: Client) -> None:
            called = await client.call_tool("get_task", {"task": "8p_GEMM"})
            answered.append((await _finished(client, called))["ok"])
            await anyio.to_thread.run_sync(running.process.terminate)
            await anyio.to_thread.run_sync(lambda: running.process.wait(30))

        with contextlib.suppress(BaseExceptionGroup):  # the server is gone, so the client's farewell finds nobody
            portal.call(lambda: _run(running.url, "legacy", work))
        assert answered == [True]
        assert running.process.returncode == 0
        assert wait_until_gone(str(home)) == []
    finally:
        running.close()


def test_http_flags_without_http_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "maxkernel_mcp", "serve", "--port", "8080"]
    env = python_environment(tmp_path / "home")
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 2
    assert "--http" in done.stderr
