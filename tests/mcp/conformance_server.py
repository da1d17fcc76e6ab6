"""Our server with the fixture tools, resources and prompts the official conformance suite asks for, on real HTTP.

Run as ``python -m tests.mcp.conformance_server HOME``; prints its URL. What is tested is ours: the factory, the
handlers it comes with, and the HTTP application; a fixture answers only what is called by a fixture's name.
"""

from __future__ import annotations

import base64
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

import jaxbench
from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import load_settings
from maxkernel_mcp.http import Access, build_application
from maxkernel_mcp.server import build_server

Call = Callable[[Any, dict[str, Any]], Awaitable[types.CallToolResult]]
_PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()
_WAV = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
).decode()


def _text(text: str, *, error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=error)


def _resource(uri: str, mime: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(
        type="resource", resource=types.TextResourceContents(uri=uri, mime_type=mime, text=text)
    )


_IMAGE = types.ImageContent(type="image", data=_PNG, mime_type="image/png")
_CONTENT: dict[str, types.CallToolResult] = {
    "test_simple_text": _text("This is a simple text response for testing."),
    "test_image_content": types.CallToolResult(content=[_IMAGE]),
    "test_audio_content": types.CallToolResult(
        content=[types.AudioContent(type="audio", data=_WAV, mime_type="audio/wav")]
    ),
    "test_embedded_resource": types.CallToolResult(
        content=[_resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
    ),
    "test_multiple_content_types": types.CallToolResult(
        content=[
            types.TextContent(type="text", text="Multiple content types test:"),
            _IMAGE,
            _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]
    ),
    "test_error_handling": _text("This tool intentionally returns an error for testing", error=True),
}


async def _logging(context: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)
    return _text("logged")


async def _progress(context: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
    return _text("done")


async def _sampling(context: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=arguments["prompt"]))
    answer = await context.session.create_message([message], max_tokens=100, related_request_id=context.request_id)
    return _text(f"LLM response: {answer.content}")


async def _missing(context: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    needed = types.ClientCapabilities(sampling=types.SamplingCapability())
    if context.session.client_capabilities is None or context.session.client_capabilities.sampling is None:
        data = {"requiredCapabilities": needed.model_dump(mode="json", by_alias=True, exclude_none=True)}
        raise MCPError(code=-32021, message="This tool needs sampling.", data=data)
    return _text("sampling is there")


def _eliciting(properties: dict[str, Any], required: list[str]) -> Call:
    async def call(context: Any, arguments: dict[str, Any]) -> types.CallToolResult:
        schema = {"type": "object", "properties": properties, "required": required}
        message = str(arguments.get("message", "Please fill in"))
        answer = await context.session.elicit_form(message, schema, related_request_id=context.request_id)
        return _text(f"Elicitation completed: action={answer.action}, content={answer.content}")

    return call


_PLAIN = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{n}", "title": title} for n, title in ((1, "First"), (2, "Second"), (3, "Third"))]
_CALLS: dict[str, Call] = {
    "test_tool_with_logging": _logging,
    "test_tool_with_progress": _progress,
    "test_sampling": _sampling,
    "test_missing_capability": _missing,
    "test_elicitation": _eliciting(
        {"username": {"type": "string"}, "email": {"type": "string"}}, ["username", "email"]
    ),
    "test_elicitation_sep1034_defaults": _eliciting(
        {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
        [],
    ),
    "test_elicitation_sep1330_enums": _eliciting(
        {
            "untitledSingle": {"type": "string", "enum": _PLAIN},
            "titledSingle": {"type": "string", "oneOf": _TITLED},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
            "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
        },
        [],
    ),
}


def _message(content: Any) -> types.PromptMessage:
    return types.PromptMessage(role="user", content=content)


def _prompt(name: str, given: dict[str, str]) -> list[types.PromptMessage] | None:
    text = types.TextContent
    if name == "test_simple_prompt":
        return [_message(text(type="text", text="This is a simple prompt for testing."))]
    if name == "test_prompt_with_arguments":
        words = f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
        return [_message(text(type="text", text=words))]
    if name == "test_prompt_with_embedded_resource":
        embedded = _resource(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
        return [_message(embedded), _message(text(type="text", text="Please process the embedded resource above."))]
    if name == "test_prompt_with_image":
        return [_message(_IMAGE), _message(text(type="text", text="Please analyze the image above."))]
    return None


def _contents(uri: str) -> Any:
    if uri == "test://static-text":
        text = "This is the content of the static text resource."
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    if uri == "test://static-binary":
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=_PNG)
    if uri.startswith("test://template/") and uri.endswith("/data"):
        name = uri.split("/")[3]
        text = f'{{"id":"{name}","templateTest":true,"data":"Data for ID: {name}"}}'
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    return None


def with_fixtures(server: Server[Any]) -> Server[Any]:
    """Return ``server``, which answers to the fixtures' names besides its own."""

    def ours(method: str) -> Any:
        entry = server.get_request_handler(method)
        assert entry is not None
        return entry.handler

    tools, call, read, get = map(ours, ("tools/list", "tools/call", "resources/read", "prompts/get"))

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        listed = (await tools(context, params)).tools
        fixtures = [
            types.Tool(name=name, description=f"Fixture {name}.", input_schema={"type": "object"})
            for name in (*_CONTENT, *_CALLS)
        ]
        return types.ListToolsResult(tools=[*listed, *fixtures])

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        if params.name in _CONTENT:
            return _CONTENT[params.name]
        if params.name in _CALLS:
            return await _CALLS[params.name](context, params.arguments or {})
        return await call(context, params)

    async def read_resource(context: Any, params: Any) -> types.ReadResourceResult:
        contents = _contents(str(params.uri))
        return types.ReadResourceResult(contents=[contents]) if contents is not None else await read(context, params)

    async def get_prompt(context: Any, params: Any) -> types.GetPromptResult:
        messages = _prompt(params.name, params.arguments or {})
        return types.GetPromptResult(messages=messages) if messages is not None else await get(context, params)

    async def set_level(context: Any, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    return server


async def _serve(home: Path) -> None:
    settings = load_settings(environ={"HOME": str(home), "MAXKERNEL_HOME": str(home)}, workspace=home)
    sock = socket.create_server(("127.0.0.1", 0))
    async with Lab.open(settings, jaxbench.task_roots()) as lab:
        application = build_application(with_fixtures(build_server(lab)), Access())
        sys.stdout.write(f"http://127.0.0.1:{sock.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        await uvicorn.Server(uvicorn.Config(application, log_config=None, access_log=False)).serve(sockets=[sock])


if __name__ == "__main__":
    anyio.run(_serve, Path(sys.argv[1]))
