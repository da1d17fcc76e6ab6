"""Prompts, completion, listed resources and change notifications, in both eras, through the SDK's client."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import PromptReference, ResourceTemplateReference

import jaxbench
from maxkernel_lab.lab import Lab
from maxkernel_lab.registry import TOOLS
from maxkernel_lab.settings import load_settings
from maxkernel_mcp.prompts import get_prompt, list_prompts
from maxkernel_mcp.server import build_server

Work = Callable[[Client], Awaitable[Any]]
NAMES = [
    "optimize_hitl",
    "optimize_auto",
    "optimize_search",
    "planner",
    "implementer",
    "debugger",
    "tester",
    "profiler",
]


def _serve(portal: BlockingPortal, tmp_path: Path, mode: Any, work: Work, **client: Any) -> Any:
    settings = load_settings(
        environ={"HOME": str(tmp_path), "MAXKERNEL_HOME": str(tmp_path / "home")}, workspace=tmp_path
    )

    async def session() -> Any:
        async with (
            Lab.open(settings, jaxbench.task_roots()) as lab,
            Client(build_server(lab), mode=mode, **client) as one,
        ):
            return await work(one)

    return portal.call(session)


def test_the_prompts_are_the_contracts_and_name_only_what_exists() -> None:
    prompts = list_prompts()
    assert [prompt.name for prompt in prompts] == NAMES
    tools = {tool.name for tool in TOOLS} | {"propose_plan"}
    arguments = {name for tool in TOOLS for name in tool.arguments.model_fields}
    for prompt in prompts:
        values = {argument.name: f"given-{argument.name}" for argument in prompt.arguments or []}
        text = get_prompt(prompt.name, values).messages[0].content.text
        assert "{{" not in text
        assert all(value in text for value in values.values()), prompt.name
        short = get_prompt(prompt.name, {"task": "8p_GEMM"}).messages[0].content.text
        assert "{{" not in short
        assert "8p_GEMM" in short
        for word in re.findall(r"`([a-z]+_[a-z_]+)`", text):
            assert word in tools | arguments | {"job_state", "time_source", "pallas_call"}, (prompt.name, word)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("optimise", {"task": "x"}, "optimize_auto"),
        ("planner", {}, "needs task"),
        ("planner", {"task": " "}, "needs task"),
        ("planner", {"task": "x", "tusk": "y"}, "tusk"),
        ("planner", {"task": "x" * 30_000}, "longer"),
    ],
)
def test_a_wrong_prompt_request_is_said(name: str, arguments: dict[str, str], words: str) -> None:
    with pytest.raises(MCPError, match=words):
        get_prompt(name, arguments)


def test_what_is_filled_in_is_not_a_placeholder() -> None:
    text = get_prompt("debugger", {"task": "{{findings}}", "findings": "secret"}).messages[0].content.text
    assert "{{findings}}" in text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_completion_and_lists(portal: BlockingPortal, tmp_path: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        async def complete(ref: Any, name: str, value: str, **context: str) -> list[str]:
            given = {"name": name, "value": value}
            result = await client.complete(ref, given, context_arguments=context or None)
            return result.completion.values

        prompt = PromptReference(name="planner")
        assert (await complete(prompt, "task", "8p"))[0] == "8p_GEMM"
        assert "8p_GEMM" in await complete(prompt, "task", "gemm")
        assert await complete(prompt, "target", "v5") == ["v5e", "v5p"]
        assert await complete(prompt, "plan", "x") == []
        guide = ResourceTemplateReference(uri="maxkernel://guide/{topic}")
        assert await complete(guide, "topic", "d") == ["debugging", "dma", "reductions"] or (
            (await complete(guide, "topic", "d"))[:2] == ["debugging", "dma"]
        )
        task = ResourceTemplateReference(uri="maxkernel://tasks/{id}")
        assert (await complete(task, "id", "8p"))[0] == "8p_GEMM"
        seen: list[str] = []
        cursor = None
        while True:
            page = await client.list_resources(cursor=cursor)
            seen += [str(resource.uri) for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(seen) == len(set(seen))
        assert {"maxkernel://guide/dma", "maxkernel://chips/tpu7x", "maxkernel://tasks/8p_GEMM"} <= set(seen)
        for uri in (seen[0], seen[12], seen[-1]):
            assert (await client.read_resource(uri)).contents
        for wrong in ("x", "-1", "9" * 30, "٣"):
            with pytest.raises(MCPError, match="cursor"):
                await client.list_resources(cursor=wrong)

    _serve(portal, tmp_path, mode, work)


@pytest.mark.toolchain
def test_the_newer_era_hears_of_runs_on_its_stream(portal: BlockingPortal, tmp_path: Path) -> None:
    async def work(client: Client) -> list[Any]:
        events: list[Any] = []
        async with client.listen(resources_list_changed=True) as stream:
            result = await client.call_tool("get_task", {"task": "8p_GEMM"})
            run_id = result.structured_content["run_id"]
            with anyio.fail_after(20):
                async for event in stream:
                    events.append(event)
                    break
        async with client.listen(resource_subscriptions=[f"maxkernel://runs/{run_id}"]) as stream:
            await client.call_tool("get_task", {"task": "8p_GEMM"})
            with anyio.fail_after(20):
                async for event in stream:
                    events.append(event)
                    break
        record = await client.read_resource(f"maxkernel://runs/{run_id}")
        assert run_id in record.contents[0].text
        return events

    listed, updated = _serve(portal, tmp_path, "auto", work)
    assert isinstance(listed, ResourcesListChanged)
    assert isinstance(updated, ResourceUpdated)


@pytest.mark.toolchain
def test_the_older_era_hears_of_what_it_subscribed_to(portal: BlockingPortal, tmp_path: Path) -> None:
    heard: list[Any] = []

    async def listen(message: Any) -> None:
        heard.append(message)

    async def work(client: Client) -> str:
        run_id = (await client.call_tool("get_task", {"task": "8p_GEMM"})).structured_content["run_id"]
        uri = f"maxkernel://runs/{run_id}"
        await client.subscribe_resource(uri)
        await client.call_tool("get_task", {"task": "8p_GEMM"})
        await client.unsubscribe_resource(uri)
        await client.call_tool("get_task", {"task": "8p_GEMM"})
        await client.list_tools()
        return uri

    uri = _serve(portal, tmp_path, "legacy", work, message_handler=listen)
    methods = [getattr(getattr(message, "root", message), "method", "") for message in heard]
    assert methods.count("notifications/resources/list_changed") == 1
    assert methods.count("notifications/resources/updated") == 1
    updated = next(m for m in heard if getattr(getattr(m, "root", m), "method", "").endswith("updated"))
    assert str(getattr(updated, "root", updated).params.uri) == uri
