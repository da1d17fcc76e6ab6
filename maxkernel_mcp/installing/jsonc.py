"""Change one entry of a JSON file that may hold comments, and leave every other character as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_BLANK: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR: Final = re.compile(r"[^\s,\]}/]+")


class BrokenError(ValueError):
    """The text is not JSON; the message says where."""


@dataclass(frozen=True)
class _Member:
    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True)
class _Object:
    start: int
    members: tuple[_Member, ...]
    end: int

    def get(self, key: str) -> _Member | None:
        found = [member for member in self.members if member.key == key]
        return found[-1] if found else None


def parse(text: str) -> Any:
    """Return the value of JSON with comments and trailing commas.

    Raises:
        BrokenError: it is not that.
    """
    position = _skip(text, 0)
    end = _skip(text, _value_end(text, position))
    if end != len(text):
        raise _broken(text, end)
    plain = _without_comments(text)
    try:
        return json.loads(plain)
    except json.JSONDecodeError as error:
        raise _broken(text, min(error.pos, len(text))) from None


def put(text: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return ``text`` with ``entry`` as ``section.name``.

    Raises:
        BrokenError: it is not JSON, or ``section`` is no object.
    """
    if not text.strip("\ufeff \t\r\n"):
        head = "\ufeff" if text.startswith("\ufeff") else ""
        return head + json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    root = _object(text, _skip(text, 0))
    holder = root.get(section)
    if holder is None:
        return _insert(text, root, section, {name: entry}, newline)
    servers = _object(text, holder.value)
    existing = servers.get(name)
    if existing is None:
        return _insert(text, servers, name, entry, newline)
    written = _written(entry, _indent_at(text, existing.start), newline)
    return text[: existing.value] + written + text[existing.end :]


def take(text: str, section: str, name: str) -> str:
    """Return ``text`` without ``section.name``; as it is where there is no such entry.

    Raises:
        BrokenError: it is not JSON.
    """
    root = _object(text, _skip(text, 0))
    holder = root.get(section)
    if holder is None:
        return text
    servers = _object(text, holder.value)
    existing = servers.get(name)
    if existing is None:
        return text
    index = servers.members.index(existing)
    if index + 1 < len(servers.members):
        return text[: existing.start] + text[servers.members[index + 1].start :]
    start = servers.members[index - 1].end if index else servers.start + 1
    # A trailing comma after the last entry goes with it.
    after = _skip(text, existing.end)
    end = after + 1 if text[after] == "," else existing.end
    closing = text[end : servers.end]
    return text[:start] + (closing if index or closing.strip() else "") + text[servers.end :]


def _insert(text: str, target: _Object, key: str, value: Mapping[str, Any], newline: str) -> str:
    outer = _indent_at(text, target.start)
    if target.members:
        last = target.members[-1]
        multiline = "\n" in text[target.start : last.start]
        indent = _indent_at(text, last.start) if multiline else outer + "  "
        member = f"{newline}{indent}{json.dumps(key)}: {_written(value, indent, newline)}"
        after = _skip(text, last.end)
        if text[after] == ",":
            return text[: after + 1] + member + text[after + 1 :]
        return text[: last.end] + "," + member + text[last.end :]
    indent = outer + "  "
    member = f"{newline}{indent}{json.dumps(key)}: {_written(value, indent, newline)}"
    inside = text[target.start + 1 : target.end]
    closing = inside.rstrip() + member + newline + outer
    return text[: target.start + 1] + closing + text[target.end :]


def _written(value: Mapping[str, Any], indent: str, newline: str) -> str:
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    return newline.join([lines[0], *(indent + line for line in lines[1:])])


def _indent_at(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _object(text: str, position: int) -> _Object:
    if text[position : position + 1] != "{":
        raise BrokenError(f"{_where(text, position)}: an object was expected")
    members: list[_Member] = []
    at = _skip(text, position + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        if key is None:
            raise _broken(text, at)
        colon = _skip(text, key.end())
        if text[colon : colon + 1] != ":":
            raise _broken(text, colon)
        value = _skip(text, colon + 1)
        end = _value_end(text, value)
        members.append(_Member(str(json.loads(key[0])), at, value, end))
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "}":
            raise _broken(text, at)
    return _Object(position, tuple(members), at)


def _value_end(text: str, position: int) -> int:
    opening = text[position : position + 1]
    if opening == "{":
        return _object(text, position).end + 1
    if opening == "[":
        at = _skip(text, position + 1)
        while text[at : at + 1] != "]":
            at = _skip(text, _value_end(text, at))
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
            elif text[at : at + 1] != "]":
                raise _broken(text, at)
        return at + 1
    found = (_STRING if opening == '"' else _SCALAR).match(text, position)
    if found is None:
        raise _broken(text, position)
    return found.end()


def _skip(text: str, position: int) -> int:
    """Return the next place that is neither blank nor comment; a byte-order mark counts as blank."""
    if position == 0 and text.startswith("\ufeff"):
        position = 1
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _without_comments(text: str) -> str:
    """Return the same text with comments and trailing commas blanked, places kept."""
    pieces: list[str] = []
    at = 0
    token = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)
    for found in token.finditer(text):
        pieces.append(text[at : found.start()])
        pieces.append(found[0] if found[0].startswith('"') else " " * len(found[0]))
        at = found.end()
    return ("".join(pieces) + text[at:]).replace("\ufeff", " ", 1)


def _broken(text: str, position: int) -> BrokenError:
    return BrokenError(f"{_where(text, position)}: not JSON")


def _where(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"line {line}, column {position - text.rfind(chr(10), 0, position)}"
