"""A structured result as text that a person or a model can read, with every fact it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_INLINE = 100


def as_text(result: Mapping[str, Any]) -> str:
    """Return ``result`` as an outline: the summary first, then each field that says something."""
    lines: list[str] = []
    summary = result.get("summary")
    if summary:
        lines.append(str(summary))
    for key, value in result.items():
        if key != "summary":
            lines.extend(_field(key, value, 0))
    return "\n".join(lines)


def _field(key: str, value: Any, depth: int) -> list[str]:
    if value is None or value in ([], {}, ""):
        return []
    pad = "  " * depth
    flat = _flat(value)
    if flat is not None:
        return [f"{pad}{key}: {flat}"]
    if isinstance(value, str):
        return [f"{pad}{key}:", *(f"{pad}  {line}" for line in value.splitlines())]
    if isinstance(value, dict):
        return [f"{pad}{key}:", *_mapping(cast("dict[str, Any]", value), depth + 1)]
    return [f"{pad}{key}:", *(line for item in cast("list[Any]", value) for line in _item(item, depth + 1))]


def _mapping(value: Mapping[str, Any], depth: int) -> list[str]:
    return [line for key, item in value.items() for line in _field(key, item, depth)]


def _item(item: Any, depth: int) -> list[str]:
    pad = "  " * depth
    if isinstance(item, dict):
        lines = _mapping(cast("dict[str, Any]", item), depth + 1)
        return [f"{pad}- {lines[0].lstrip()}", *lines[1:]] if lines else []
    flat = _flat(item)
    return [f"{pad}- {flat if flat is not None else str(item)}"]


def _flat(value: Any) -> str | None:
    """Return a scalar or a short list or mapping of scalars on one line, or None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) or value is None:
        return "null" if value is None else f"{value}"
    if isinstance(value, str):
        return None if "\n" in value else value
    parts: list[str | None]
    if isinstance(value, list):
        parts = [_flat(item) if not isinstance(item, (dict, list)) else None for item in cast("list[Any]", value)]
        text = "[" + ", ".join(part or "" for part in parts) + "]"
    elif isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        parts = [None if isinstance(item, (dict, list)) else _flat(item) for _, item in items]
        text = "{" + ", ".join(f"{key}: {part}" for (key, _), part in zip(items, parts, strict=True)) + "}"
    else:
        return str(value)
    return text if None not in parts and len(text) <= _INLINE else None
