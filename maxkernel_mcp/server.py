"""The MCP server over a lab: tools, resources and prompts, both protocol eras, any transport. Starts no process.

Built on the SDK's low-level server: it leaves schemas, argument checks and error texts to us, where the high-level one
drops unknown arguments silently.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import mcp_types as types
import structlog
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions

from maxkernel_lab.answers import is_misuse
from maxkernel_lab.lab import Lab
from maxkernel_lab.registry import Tool
from maxkernel_lab.rendering import as_text
from maxkernel_mcp import __version__
from maxkernel_mcp.approving import Approving
from maxkernel_mcp.changes import Changes, resource_uri
from maxkernel_mcp.completing import complete
from maxkernel_mcp.prompts import get_prompt, list_prompts
from maxkernel_mcp.resources import list_resources, list_templates, read_resource
from maxkernel_mcp.schemas import input_schema, output_schema
from maxkernel_tools.records.results import ToolResult

NAME: Final = "maxkernel"
INSTRUCTIONS: Final = (
    "A laboratory for TPU kernels (JAX Pallas). No TPU is needed: compile_kernel uses the real TPU compiler, "
    "test_kernel judges numerics in interpret mode, profile_kernel estimates time from the compiler's schedule and "
    "says so; lookup_docs has the installed API and a guide. A good loop: get_task, write workload(*inputs), "
    "compile_kernel, test_kernel, profile_kernel. A call that takes over 40 s answers with a job_id; get_job waits for "
    "it."
)
_logger = structlog.get_logger(__name__)

_Context = Any
"""``ServerRequestContext``: the SDK's, of any lifespan and request type."""


def build_server(lab: Lab, *, version: str = __version__) -> Server[Any]:
    """Return a server for ``lab``; one server may serve any number of connections."""
    changes, approving = Changes(), Approving(lab)
    listed = [listing(tool) for tool in lab.tools]
    schemas = {tool.name: tool.input_schema for tool in listed}

    async def list_tools(context: _Context, params: Any) -> types.ListToolsResult:  # noqa: ARG001
        return types.ListToolsResult(tools=listed)

    async def call_tool(
        context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        result = await approving.after_call(context, params, await _call(lab, changes, context, params))
        return result if isinstance(result, types.InputRequiredResult) else to_call_result(result)

    async def resources(context: _Context, params: Any) -> types.ListResourcesResult:  # noqa: ARG001
        return await list_resources(lab, params.cursor if params is not None else None)

    async def templates(context: _Context, params: Any) -> types.ListResourceTemplatesResult:  # noqa: ARG001
        return types.ListResourceTemplatesResult(resource_templates=list_templates())

    async def read(context: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:  # noqa: ARG001
        return await read_resource(lab, str(params.uri))

    async def subscribe(context: _Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        changes.subscribe(context, resource_uri(params))
        return types.EmptyResult()

    async def unsubscribe(context: _Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        changes.unsubscribe(context, resource_uri(params))
        return types.EmptyResult()

    async def prompts(context: _Context, params: Any) -> types.ListPromptsResult:  # noqa: ARG001
        return types.ListPromptsResult(prompts=list_prompts())

    async def prompt(context: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:  # noqa: ARG001
        return get_prompt(params.name, params.arguments or {})

    async def completion(context: _Context, params: types.CompleteRequestParams) -> types.CompleteResult:  # noqa: ARG001
        return await complete(lab, params)

    return LabServer(
        NAME,
        version=version,
        title="MaxKernel",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=resources,
        on_list_resource_templates=templates,
        on_read_resource=read,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=changes.listen,
        on_list_prompts=prompts,
        on_get_prompt=prompt,
        on_completion=completion,
    )


class LabServer(Server[Any]):
    """The SDK's server, which says to clients of the older era too that the list of resources may change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> InitializationOptions:
        """Return the options of a session, by default with ``resources.listChanged``."""
        changing = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(changing, *args, **kwargs)


async def _call(lab: Lab, changes: Changes, context: _Context, params: types.CallToolRequestParams) -> ToolResult:
    with structlog.contextvars.bound_contextvars(request_id=str(context.request_id), tool=params.name[:80]):
        result = await lab.call(
            params.name,
            params.arguments or {},
            _reporter(context.session.report_progress),
            handover_s=lab.services.settings.server_handover_s,
        )
        _logger.info("tool_called", ok=result.ok, state=result.state, run_id=result.run_id, took_ms=result.took_ms)
        await changes.after_call(context, result)
    return result


def to_call_result(result: ToolResult) -> types.CallToolResult:
    """Return a tool's result as MCP carries it: every fact as structure and again as text."""
    structured = result.model_dump(mode="json")
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=as_text(structured))],
        structured_content=structured,
        is_error=is_misuse(result) or result.state == "failed",
    )


def _reporter(send: Callable[[float, float | None, str | None], Awaitable[None]]) -> Any:
    """Return a progress callback whose value always rises, as the protocol demands."""
    last = 0.0

    async def report(done: float, total: float | None, message: str) -> None:
        nonlocal last
        last = done if done > last else last + 0.001
        await send(last, total if total is not None and total >= last else None, message[:500])

    return report


def listing(tool: Tool) -> types.Tool:
    """Return a tool as ``tools/list`` shows it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool),
        output_schema=output_schema(tool),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=False,
            idempotent_hint=tool.idempotent,
            open_world_hint=tool.open_world,
        ),
    )
