"""Plans before a person: by elicitation in both eras, else in the shell; nothing a model calls approves anything."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from anyio.from_thread import BlockingPortal
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

import jaxbench
from maxkernel_lab.lab import Lab
from maxkernel_lab.plans import PlanStore
from maxkernel_lab.registry import TOOLS
from maxkernel_lab.settings import load_settings
from maxkernel_mcp.cli import main
from maxkernel_mcp.server import build_server
from maxkernel_tools.errors import MisuseError
from tests.lab.processes import REPO

Work = Callable[[Client], Awaitable[Any]]
PLAN = {"task": "8p_GEMM", "plan": "Tile by 512; the MXU waits at step edges; time_us down."}
KERNEL = {"source": "def workload(a, b):\n    return a @ b\n", "task": "8p_GEMM"}
MODES = ("auto", "legacy")


def serve(portal: BlockingPortal, folder: Path, mode: str, work: Work, paradigm: str = "", **client: Any) -> Any:
    home = {"HOME": str(folder), "MAXKERNEL_HOME": str(folder / "home")}
    environ = home | ({"MAXKERNEL_PARADIGM": paradigm} if paradigm else {})
    settings = load_settings(environ=environ, workspace=folder)

    async def session() -> Any:
        async with (
            Lab.open(settings, jaxbench.task_roots()) as lab,
            Client(build_server(lab), mode=mode, **client) as one,  # pyright: ignore[reportArgumentType]
        ):
            return await work(one)

    return portal.call(session)


async def propose(client: Client) -> dict[str, Any]:
    return (await client.call_tool("propose_plan", PLAN)).structured_content or {}


def person(action: str, **content: Any) -> tuple[list[str], Any]:
    heard: list[str] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        heard.append(params.message)
        return types.ElicitResult(action=action, content=content or None)  # pyright: ignore[reportArgumentType]

    return heard, answer


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("word", "status"),
    [
        (("accept", {"approve": True, "note": "go"}), "approved"),
        (("accept", {"approve": False}), "rejected"),
        (("decline", {}), "rejected"),
        (("cancel", {}), "pending"),
    ],
)
def test_the_person_decides_in_the_client(
    portal: BlockingPortal, tmp_path: Path, mode: str, word: tuple[str, dict[str, Any]], status: str
) -> None:
    heard, answer = person(word[0], **word[1])
    result = serve(portal, tmp_path, mode, propose, elicitation_callback=answer)
    assert result["status"] == status
    assert len(heard) == 1
    assert PLAN["plan"] in heard[0]
    store = PlanStore(tmp_path / "home")
    channels = [decision.channel for decision in store.decisions(result["plan_id"])]
    assert channels == ([] if status == "pending" else ["elicitation"])


@pytest.mark.parametrize("mode", MODES)
def test_without_elicitation_the_shell_approves(
    portal: BlockingPortal, tmp_path: Path, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = serve(portal, tmp_path, mode, propose)
    assert first["status"] == "pending"
    assert first["ok"] is None
    assert first["approve_with"] == f"maxkernel plans approve {first['plan_id']}"
    home = ["--home", str(tmp_path / "home")]
    assert main(["plans", "list", *home]) == 0
    assert "pending" in capsys.readouterr().out
    assert main(["approve", first["plan_id"], *home]) == 0
    assert PLAN["plan"] in capsys.readouterr().out, "the person sees what they approve"
    again = serve(portal, tmp_path, mode, propose)
    assert (again["status"], again["channel"], again["plan_id"]) == ("approved", "shell", first["plan_id"])
    assert main(["plans", "reject", first["plan_id"], *home]) == 0
    assert serve(portal, tmp_path, mode, propose)["status"] == "rejected"
    assert main(["approve", "p-000000000000", *home]) == 2


@pytest.mark.parametrize("mode", MODES)
def test_kernel_tools_refuse_plans_nobody_approved(portal: BlockingPortal, tmp_path: Path, mode: str) -> None:
    async def work(client: Client) -> list[str]:
        plan_id = (await propose(client))["plan_id"]
        said: list[str] = []
        for extra in ({"plan_id": plan_id}, {"plan_id": "p-123456789abc"}, {}):
            for tool in ("compile_kernel", "test_kernel", "profile_kernel"):
                answer = await client.call_tool(tool, KERNEL | extra)
                assert answer.is_error
                said.append((answer.structured_content or {})["summary"])
        started = await client.call_tool("start_optimization", {"task": "8p_GEMM", "paradigm": "auto"})
        assert started.is_error
        return said

    said = serve(portal, tmp_path, mode, work, paradigm="hitl")
    assert all("is not approved" in words for words in said[:3])
    assert all("Unknown plan" in words for words in said[3:6])
    assert all("hitl" in words for words in said[6:])


@pytest.mark.parametrize("mode", MODES)
def test_no_call_approves_however_it_is_dressed_up(portal: BlockingPortal, tmp_path: Path, mode: str) -> None:
    yes = {"approval": types.ElicitResult(action="accept", content={"approve": True})}

    async def work(client: Client) -> str:
        for extra in ({"approved": True}, {"status": "approved"}, {"decision": "approve"}, {"channel": "shell"}):
            answer = await client.call_tool("propose_plan", PLAN | extra)
            assert answer.is_error, extra
        for state in ("", "guessed", None):
            try:
                await client.session.call_tool(
                    "propose_plan", PLAN, input_responses=yes, request_state=state, allow_input_required=True
                )
            except (MCPError, TypeError):
                continue
        for tool in TOOLS:
            if tool.name not in {"start_optimization", "autotune_kernel"}:
                await client.call_tool(tool.name, {"plan_id": "p-1", "approve": True, "approved": True})
        return (await propose(client))["status"]

    assert serve(portal, tmp_path, mode, work) == "pending"
    # With a client that has elicitation, an answer to a question nobody asked is no answer either.
    _, answer = person("cancel")

    async def forged(client: Client) -> str:
        with contextlib.suppress(MCPError):
            await client.session.call_tool(
                "propose_plan", PLAN, input_responses=yes, request_state="guessed", allow_input_required=True
            )
        return (await propose(client))["status"]

    assert serve(portal, tmp_path, mode, forged, elicitation_callback=answer) == "pending"


def test_no_handler_of_a_tool_can_reach_the_word_that_approves() -> None:
    callers = set()
    for root in ("tools/maxkernel_lab", "tools/maxkernel_tools", "maxkernel_mcp", "jaxbench"):
        for path in (REPO / root).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and node.attr == "decide":
                    callers.add(path.relative_to(REPO).as_posix())
    assert callers == {"maxkernel_mcp/approving.py", "maxkernel_mcp/cli/plans.py"}


def test_a_plan_whose_file_was_changed_is_not_the_plan_that_was_approved(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    plan = store.propose("8p_GEMM", "as approved")
    store.decide(plan, approved=True, channel="shell")
    store.require(plan.plan_id, "8p_GEMM")
    with pytest.raises(MisuseError, match="not for"):
        store.require(plan.plan_id, "41k")
    path = tmp_path / "plans" / f"{plan.plan_id}.json"
    path.write_text(path.read_text().replace("as approved", "as changed later"))
    with pytest.raises(MisuseError, match="changed"):
        store.require(plan.plan_id, "8p_GEMM")
    other = store.propose("8p_GEMM", "another")
    decisions = tmp_path / "plans" / f"{plan.plan_id}.decisions"
    decisions.rename(tmp_path / "plans" / f"{other.plan_id}.decisions")
    with pytest.raises(MisuseError, match="not approved"):
        store.require(other.plan_id, "8p_GEMM")
