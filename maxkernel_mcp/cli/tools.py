"""Run a registry tool from the shell and print its result: as the MCP tool's structured result, or for a person."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

import jaxbench
from maxkernel_lab.answers import is_misuse
from maxkernel_lab.lab import Lab
from maxkernel_lab.registry import find_tool
from maxkernel_lab.settings import Settings, load_settings
from maxkernel_mcp.cli import ANSWER_IS_NO, MACHINERY, MISUSE, OK
from maxkernel_mcp.cli.printing import print_result, shell_progress
from maxkernel_mcp.logs import configure_logging
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.results import ToolResult

_PATH_ARGUMENTS = ("path", "reference_path", "start_from")


def run_tool(name: str, options: argparse.Namespace) -> int:
    """Run tool ``name`` with the command line's options."""
    arguments = tool_arguments(name, options)
    settings = shell_settings(options, arguments)
    if getattr(options, "detach", False):
        from maxkernel_mcp.cli.optimize import detach_call  # noqa: PLC0415 - only for --detach

        return detach_call(name, arguments, settings, options)
    if "plan_id" not in arguments:
        # The paradigm hitl keeps a model from judging kernels nobody approved; who types this is the person.
        settings = dataclasses.replace(settings, paradigm="auto")
    result = anyio.run(_call, name, arguments, settings, options.json)
    return report(result, as_json=options.json)


async def _call(name: str, arguments: Mapping[str, Any], settings: Settings, quiet: bool) -> ToolResult:
    async with Lab.open(settings, jaxbench.task_roots()) as lab:
        with shell_progress(enabled=not quiet) as progress:
            return await lab.call(name, arguments, progress)


def tool_arguments(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the command line's options as the tool's arguments, leaving out what was not given."""
    given = {"run_kind": "kind"}
    values = {given.get(key, key): value for key, value in vars(options).items() if key not in {"kind", "run"}}
    fields = find_tool(name).arguments.model_fields
    arguments = {key: value for key, value in values.items() if key in fields and value not in ("", [], None)}
    if "params" in arguments:
        arguments["params"] = dict(_param(text) for text in arguments["params"])
    if "space" in arguments:
        arguments["space"] = dict(_values(text) for text in arguments["space"])
    return arguments


def _param(text: str) -> tuple[str, bool | int | float | str]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise MisuseError(f"--param {text!r}.", allowed="NAME=VALUE.", action="Write it like --param BLOCK_M=256.")
    try:
        parsed: object = json.loads(value)
    except ValueError:
        parsed = {"True": True, "False": False}.get(value, value)
    return name, parsed if isinstance(parsed, (bool, int, float)) else value


def _values(text: str) -> tuple[str, list[bool | int | float | str]]:
    name, sign, values = text.partition("=")
    if not sign or not name.isidentifier() or not values:
        raise MisuseError(
            f"--space {text!r}.", allowed="NAME=VALUE,VALUE,...", action="Write it like --space BLOCK_M=128,256."
        )
    return name, [_param(f"{name}={value}")[1] for value in values.split(",")]


def shell_settings(options: argparse.Namespace, arguments: Mapping[str, Any]) -> Settings:
    """Return the settings of a shell command: a file a person names on the command line may be read."""
    named = [Path(str(arguments[key])).absolute().parent for key in _PATH_ARGUMENTS if arguments.get(key)]
    named += [Path(str(root)).absolute() for root in arguments.get("import_roots", ())]
    task = str(arguments.get("task", ""))
    if "/" in task or (task and Path(task).is_dir()):
        named.append(Path(task).absolute())
    settings = load_settings(flags={"home": options.home}, extra_roots=named)
    configure_logging(settings.server_log_level)
    return settings


def report(result: ToolResult, *, as_json: bool) -> int:
    """Print ``result`` and return the exit code it stands for."""
    if as_json:
        sys.stdout.write(json.dumps(result.model_dump(mode="json"), ensure_ascii=False) + "\n")
        if is_misuse(result):
            print(f"maxkernel: {result.summary}", file=sys.stderr)
    else:
        print_result(result)
    sys.stdout.flush()
    return exit_code(result)


def exit_code(result: ToolResult) -> int:
    """Return 0 when ok or running, 1 when the answer is no, 2 for misuse, 3 when the machinery failed."""
    if is_misuse(result):
        return MISUSE
    if result.state == "failed":
        return MACHINERY
    return ANSWER_IS_NO if result.ok is False else OK
