"""Check what a caller passed against a tool's model, and say what is wrong in words a model can act on."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from maxkernel_lab.registry.definition import Arguments, Tool
from maxkernel_tools.errors import MisuseError

_SHOWN: Final = 80


def parse_arguments(tool: Tool, arguments: Mapping[str, Any]) -> Arguments:
    """Return ``arguments`` as the tool's model.

    Raises:
        MisuseError: an argument is unknown, missing, or has another type or range than allowed.
    """
    names = list(tool.arguments.model_fields)
    unknown = [name for name in arguments if name not in tool.arguments.model_fields]
    if unknown:
        close = difflib.get_close_matches(unknown[0], names, n=1, cutoff=0.5)
        raise MisuseError(
            f"{tool.name} has no argument {_short(', '.join(map(str, unknown)))!r}.",
            allowed=(", ".join(names) or "no arguments") + ".",
            action=f"Did you mean {close[0]}?" if close else _param_hint(tool, unknown[0]),
        )
    try:
        return tool.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        raise _complaint(tool, error) from None


def _param_hint(tool: Tool, name: str) -> str:
    if "params" in tool.arguments.model_fields:
        return f"Leave it out; a parameter of the kernel goes into params, like {{{name!r}: 256}}."
    return "Leave it out."


def _complaint(tool: Tool, error: ValidationError) -> MisuseError:
    details = error.errors(include_url=False)
    first = details[0]
    name = ".".join(str(part) for part in first["loc"] if not _is_union_branch(part)) or "arguments"
    field = tool.arguments.model_fields.get(str(first["loc"][0])) if first["loc"] else None
    if first["type"] == "missing":
        return MisuseError(
            f"{tool.name} needs {name}.", allowed=_described(field) or "a value.", action=f"Pass {name}."
        )
    branches = [item["msg"] for item in details if item["loc"][:1] == first["loc"][:1]]
    allowed = "; ".join(dict.fromkeys(_lower(message) for message in branches))
    return MisuseError(
        f"Argument {name} of {tool.name} is {_short(repr(first.get('input')))}.",
        allowed=f"{allowed}.",
        action=_described(field) or f"Correct {name}.",
    )


def _is_union_branch(part: int | str) -> bool:
    return part in {"bool", "int", "float", "str"}


def _described(field: Any) -> str:
    return str(field.description or "") if field is not None else ""


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
