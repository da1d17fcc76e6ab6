"""Change one table of a TOML file and leave every other line as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import tomli

from maxkernel_mcp.installing.jsonc import BrokenError


def parse(text: str) -> dict[str, Any]:
    """Return the tables of ``text``.

    Raises:
        BrokenError: it is not TOML.
    """
    try:
        return tomli.loads(text.lstrip("\ufeff"))
    except tomli.TOMLDecodeError as error:
        raise BrokenError(f"not TOML: {error}") from None


def put(text: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return ``text`` with ``entry`` as the table ``section.name``, at its end.

    Raises:
        BrokenError: it is not TOML, or the table is written in a form this does not change.
    """
    rest = take(text, section, name)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{section}.{name}]", *(f"{key} = {_value(value)}" for key, value in entry.items())]
    gap = "" if not rest.strip() else newline if rest.endswith(("\n", "\r")) else newline * 2
    result = (rest if rest.strip() else "") + gap + newline.join(lines) + newline
    _verify(result, section, name, entry)
    return result


def take(text: str, section: str, name: str) -> str:
    """Return ``text`` without the table ``section.name`` and those below it.

    Raises:
        BrokenError: it is not TOML, or the table is written in a form this does not change.
    """
    if name not in parse(text).get(section, {}):
        return text
    quoted = rf"(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}')"
    ours = re.compile(rf"^\s*\[\s*{re.escape(section)}\s*\.\s*{quoted}\s*(?:\.[^\]]*)?\]")
    kept: list[str] = []
    skipping = False
    for line in text.splitlines(keepends=True):
        if re.match(r"^\s*\[", line) and not _continues(kept):
            skipping = ours.match(line) is not None
        if not skipping:
            kept.append(line)
    result = "".join(kept)
    while result.endswith(("\n\n", "\r\n\r\n")):
        result = result[:-2] if result.endswith("\r\n\r\n") else result[:-1]
    _verify(result, section, name, None, before=text)
    return result


def _continues(lines: list[str]) -> bool:
    """Whether the text so far ends inside an array or a long string, where a bracket begins no table."""
    try:
        tomli.loads("".join(lines).lstrip("\ufeff"))
    except tomli.TOMLDecodeError:
        return True
    return False


def _verify(
    result: str, section: str, name: str, entry: Mapping[str, Any] | None, *, before: str | None = None
) -> None:
    """Raise where the change did anything but what was meant."""
    after = parse(result)
    servers = after.get(section, {})
    if (servers.get(name) != entry) if entry is not None else (name in servers):
        raise BrokenError(f"{section}.{name} is written in a form this does not change; edit it by hand")
    if before is not None:
        expected = parse(before)
        expected.get(section, {}).pop(name, None)
        if _without_empty(expected, section) != _without_empty(after, section):
            raise BrokenError(f"{section}.{name} cannot be told from its neighbours; edit it by hand")


def _without_empty(tables: dict[str, Any], section: str) -> dict[str, Any]:
    return {key: value for key, value in tables.items() if key != section or value}


def _value(value: Any) -> str:
    # JSON's text of a number, a string or a list of strings is TOML too, but for characters beyond the basic plane.
    return json.dumps(value, ensure_ascii=False)
