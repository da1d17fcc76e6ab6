"""Real ``maxkernel serve`` processes over stdio, through the SDK's client, in both protocol eras."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from maxkernel_lab.budget import RESULT_BYTES
from maxkernel_mcp import __version__
from tests.mcp.servers import parameters

TOOLS = [
    "describe_environment",
    "list_tasks",
    "get_task",
    "lookup_docs",
    "compile_kernel",
    "test_kernel",
    "profile_kernel",
    "autotune_kernel",
    "diff_traces",
    "start_optimization",
    "propose_plan",
    "get_job",
    "cancel_job",
    "resume_job",
    "get_run",
    "list_runs",
]


class Session:
    """A synchronous view of one client."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def call(self, name: str, **arguments: Any) -> Any:
        result = self._portal.call(self.client.call_tool, name, arguments)
        structured = result.structured_content
        assert structured is not None
        text = result.content[0].text
        assert len(json.dumps(structured, ensure_ascii=False).encode()) < RESULT_BYTES
        assert len(text.encode()) < RESULT_BYTES
        assert structured["summary"] in text
        for artifact in structured["artifacts"]:
            assert artifact["uri"] in text
        return result

    def read(self, uri: str) -> Any:
        return self._portal.call(self.client.read_resource, uri)

    def run(self, function: Any, *args: Any) -> Any:
        return self._portal.call(function, *args)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a workspace, ünïcode")
    (folder / "big.py").write_text("x = 1\n" * 60_000)
    return folder


@pytest.fixture(scope="module", params=["auto", "legacy"])
def session(
    request: pytest.FixtureRequest, portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory, workspace: Path
) -> Iterator[Session]:
    server = parameters(tmp_path_factory.mktemp("home"), workspace)
    with portal.wrap_async_context_manager(Client(stdio_client(server), mode=request.param)) as client:
        yield Session(portal, client)


def test_the_tools_are_the_contracts(session: Session) -> None:
    tools = session.run(session.client.list_tools).tools
    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        text = json.dumps(tool.input_schema) + json.dumps(tool.output_schema)
        assert "$ref" not in text
        assert "$defs" not in text
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations is not None
        assert tool.annotations.destructive_hint is False
    assert session.client.server_info.version == __version__


def test_the_environment_is_described_with_origins(session: Session) -> None:
    content = session.call("describe_environment").structured_content
    origins = {setting["name"]: setting["origin"] for setting in content["settings"]}
    assert origins["home"] == "env MAXKERNEL_HOME"
    assert content["versions"]["python"]


def test_an_unknown_argument_is_refused_with_the_known_ones(session: Session) -> None:
    result = session.call("list_tasks", limitt=3)
    assert result.is_error
    assert "Did you mean limit" in result.content[0].text
    assert result.structured_content["findings"][0]["code"] == "invalid-argument"


def test_paths_outside_the_workspace_are_refused(session: Session, workspace: Path) -> None:
    (workspace / "link.py").unlink(missing_ok=True)
    (workspace / "link.py").symlink_to("/etc/passwd")
    for path in ("../x.py", "/etc/passwd", "link.py", "sub/../../x.py", "big.py", "absent.py"):
        result = session.call("compile_kernel", path=path, task="8p_GEMM")
        assert result.is_error
        assert "root:" not in result.content[0].text


def test_every_task_is_listed_within_the_budget(session: Session) -> None:
    content = session.call("list_tasks", limit=200).structured_content
    assert content["total"] == len(content["tasks"]) >= 50


def test_an_unknown_tool_is_an_answer_not_a_crash(session: Session) -> None:
    result = session.call("compile_kernal")
    assert result.is_error
    assert "compile_kernel" in result.content[0].text


def test_resources_are_read_or_told_what_there_is(session: Session) -> None:
    templates = session.run(session.client.list_resource_templates).resource_templates
    assert "maxkernel://runs/{run_id}/{artifact}{?page}" in {template.uri_template for template in templates}
    facts = json.loads(session.read("maxkernel://tasks/8p_GEMM").contents[0].text)
    assert facts["dims"]["K"] == 8192
    chip = json.loads(session.read("maxkernel://chips/v6e").contents[0].text)
    assert chip
    for uri in ("maxkernel://runs/r-0/x", "maxkernel://tasks/none", "maxkernel://chips/v9", "maxkernel://other"):
        with pytest.raises(MCPError, match="Nothing at"):
            session.read(uri)


@pytest.mark.toolchain
def test_a_task_is_read_with_its_artifacts_in_pages(session: Session) -> None:
    heard: list[str] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def call() -> Any:
        return await session.client.call_tool("get_task", {"task": "8p_GEMM"}, progress_callback=listen)

    content = session.run(call).structured_content
    assert content["ok"]
    assert content["reference_graph"]["equations"][0]["primitive"] == "dot_general"
    assert heard
    uris = {artifact["uri"].rsplit("/", 1)[-1]: artifact["uri"] for artifact in content["artifacts"]}
    page = session.read(uris["reference.py"]).contents[0]
    assert page.text == content["reference_source"]
    with pytest.raises(MCPError, match="It has 1 pages"):
        session.read(uris["reference.py"] + "?page=2")
    run = session.call("get_run", run_id=content["run_id"]).structured_content
    assert {artifact["uri"] for artifact in run["artifacts"]} == set(uris.values())
