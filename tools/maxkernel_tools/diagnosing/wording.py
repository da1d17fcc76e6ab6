"""Takes the compiler's messages apart: error code, words, operation, types, place. Judges nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MOSAIC = re.compile(
    r"^INTERNAL: Mosaic failed to compile TPU kernel(?: with MLIR module name .*? HLO name .*?)?: ", re.DOTALL
)
_CODE = re.compile(r"\bE(\d{4}): (\w+): ")
_PLACE = re.compile(r'"(?P<file>[^"]+\.py)":(?P<line>\d+):\d+')
_OPERATION = re.compile(
    r"(?:The MLIR operation involved:|see current operation:)\s*(?P<text>.+?)(?=\n\n|\n\.\.\.|\Z)", re.DOTALL
)
_NOISE = (
    re.compile(r"\ncaused by \w+: .*", re.DOTALL),
    re.compile(r"\n*The preceding stack trace is the source of .*", re.DOTALL),
    re.compile(r"\n?See (?:details at )?https?://\S+(?: for more details\.)?"),
    re.compile(r"\n*Please (?:report a bug at|file an issue at|file a bug at):? https?://\S+\.?"),
    re.compile(r"\n\.\.\. additional diagnostics were skipped\."),
    re.compile(r"\nat location: loc\(.*?\)\n", re.DOTALL),
    re.compile(r"Pallas encountered an internal verification error\.\s*"),
    re.compile(r"Error details: "),
)
_LIMIT = 600


@dataclass(frozen=True)
class Words:
    """A compiler message in parts.

    Attributes:
        text: the whole message.
        gist: without prefixes, links and the operation; one line.
        operation: the MLIR operation involved, if one is shown.
        code: the number of an ``E1234`` code. ``code_name``: its name.
        places: ``(file, line)`` pairs from locations inside the text.
    """

    text: str
    gist: str
    operation: str
    code: str
    code_name: str
    places: tuple[tuple[str, int], ...]


def read_words(message: str) -> Words:
    """Take a message apart."""
    operation = _OPERATION.search(message)
    code = _CODE.search(message)
    gist = _MOSAIC.sub("", message)
    if operation is not None:
        gist = gist.replace(operation.group(0), "")
    for pattern in _NOISE:
        gist = pattern.sub("", gist)
    gist = _CODE.sub("", gist)
    return Words(
        text=message,
        gist=" ".join(gist.split()),
        operation=" ".join(operation.group("text").split()) if operation else "",
        code=code.group(1) if code else "",
        code_name=code.group(2) if code else "",
        places=tuple((match.group("file"), int(match.group("line"))) for match in _PLACE.finditer(message)),
    )


def shorten(text: str, limit: int = _LIMIT) -> str:
    """Return ``text`` in at most ``limit`` characters, its middle left out."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f"{text[:head]} … {text[-(limit - head - 3) :]}"


def size_bytes(number: str, unit: str) -> int:
    """Return bytes for a size as the compiler prints it (``39.77M``, ``128.00G``)."""
    scale = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    return round(float(number) * scale[unit.upper()])


def mib(size: float) -> str:
    """Return bytes as text a person reads: ``39.8 MiB``, ``96 KiB``, ``128 GiB``."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            value = size / scale
            return f"{value:.0f} {unit}" if value == int(value) or value >= 100 else f"{value:.1f} {unit}"
    return f"{size:.0f} B"
