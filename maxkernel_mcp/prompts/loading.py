"""Reads the prompt files and fills them. A file's second line names its arguments; the first is always the task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

NAMES: Final = (
    "optimize_hitl",
    "optimize_auto",
    "optimize_search",
    "planner",
    "implementer",
    "debugger",
    "tester",
    "profiler",
)
_DESCRIBED: Final = {
    "task": "Task id (8p_GEMM), or the folder of a task of your own.",
    "target": "TPU generation: v4 v5e v5p v6e tpu7x. Default: the settings' target.",
    "budget": "Kernels to try at most.",
    "run_id": "The best run so far.",
    "plan": "What to implement.",
    "findings": "Findings of compile_kernel or test_kernel, as text.",
}
# What stands where an argument was not given; a given one may be wrapped, so that the sentence reads on.
_ABSENT: Final = {
    "target": "the settings' target",
    "budget": "",
    "run_id": "",
    "plan": "the simplest kernel that can be right",
    "findings": "(call compile_kernel and test_kernel to see them)",
}
_WRAPPED: Final = {"budget": " and `budget={}`", "run_id": " and `get_run` of {}"}
_ARGUMENT_CHARS: Final = 20_000
_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class _File:
    name: str
    title: str
    arguments: tuple[str, ...]
    text: str


@cache
def _read(name: str) -> _File:
    text = files("maxkernel_mcp.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")
    title, arguments, body = text.split("\n", 2)
    names = tuple(arguments.removeprefix("arguments:").split())
    return _File(name, title.removeprefix("# "), names, body.strip())


def list_prompts() -> list[types.Prompt]:
    """Return every prompt with its arguments."""
    return [
        types.Prompt(
            name=file.name,
            title=file.title,
            description=file.title,
            arguments=[
                types.PromptArgument(name=name, description=_DESCRIBED[name], required=name == "task")
                for name in file.arguments
            ],
        )
        for file in map(_read, NAMES)
    ]


def get_prompt(name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """Return a prompt with its arguments filled in.

    Raises:
        MCPError: there is no such prompt, or an argument is missing, unknown or too long.
    """
    if name not in NAMES:
        raise _invalid(f"Unknown prompt {name[:80]!r}. Prompts: {', '.join(NAMES)}.")
    file = _read(name)
    unknown = sorted(set(arguments) - set(file.arguments))
    if unknown:
        raise _invalid(f"{name} has no argument {', '.join(unknown)[:80]!r}. It takes {', '.join(file.arguments)}.")
    if not arguments.get("task", "").strip():
        raise _invalid(f"{name} needs task: {_DESCRIBED['task']}")
    long = [key for key, value in arguments.items() if len(value) > _ARGUMENT_CHARS]
    if long:
        raise _invalid(f"{long[0]} is longer than {_ARGUMENT_CHARS} characters.")

    def fill(match: re.Match[str]) -> str:
        given = arguments.get(match[1], "").strip()
        return _WRAPPED.get(match[1], "{}").replace("{}", given) if given else _ABSENT[match[1]]

    # One pass, so that what is filled in cannot itself be taken for a placeholder.
    text = _PLACEHOLDER.sub(fill, file.text)
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=file.title, messages=[message])


def _invalid(message: str) -> MCPError:
    return MCPError(code=types.INVALID_PARAMS, message=message)
