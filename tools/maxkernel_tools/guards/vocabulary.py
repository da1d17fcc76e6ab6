"""The lists behind the rules, as data: ``rules.json``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


def names(kind: str) -> frozenset[str]:
    """Return the names of one list of ``rules.json``."""
    return _all()[kind]


@cache
def _all() -> dict[str, frozenset[str]]:
    raw: dict[str, Any] = json.loads((Path(__file__).parent / "rules.json").read_text(encoding="utf-8"))
    return {kind: frozenset(values) for kind, values in raw.items()}
