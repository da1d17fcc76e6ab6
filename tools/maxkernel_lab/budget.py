"""Keep results small: under 20 kB as JSON and as text alike, cut with a notice, the whole in an artifact.

A result that floods a model's context is as bad as none. Numbers are never cut out of a list of numbers (half a shape
is a lie); lists of records and long texts are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from maxkernel_lab.rendering import as_text

RESULT_BYTES: Final = 20_000
_TARGET_BYTES: Final = 18_500  # leaves room for the protocol's own framing
# Texts and lists are cut to the first pair that fits.
_STEPS: Final = (
    (8000, 100),
    (4000, 60),
    (2000, 40),
    (1200, 25),
    (800, 15),
    (500, 10),
    (300, 6),
    (200, 4),
    (120, 3),
    (80, 2),
    (60, 1),
)
# Whole or not at all: a part of these misleads. They lie whole in an artifact.
_ATOMIC: Final = ("reference_graph", "reference_source")
_KEPT: Final = frozenset({"ok", "state", "job_id", "run_id", "artifacts", "took_ms", "uri"})


def size(result: Mapping[str, Any]) -> int:
    """Return the larger of the result's bytes as JSON and as text."""
    return max(len(json.dumps(result, ensure_ascii=False).encode()), len(as_text(result).encode()))


def fits(result: Mapping[str, Any]) -> bool:
    """Whether the result may be sent as it is."""
    return size(result) <= _TARGET_BYTES


def cut(result: Mapping[str, Any], whole_uri: str | None) -> dict[str, Any]:
    """Return ``result`` within the budget.

    Args:
        result: a structured result.
        whole_uri: where the whole lies, if it was kept.
    """
    if fits(result):
        return dict(result)
    where = f"The whole result is {whole_uri}." if whole_uri else "Ask with narrower arguments for the rest."
    shorter = dict(result)
    for name in _ATOMIC:
        if shorter.get(name) is not None and not fits(shorter):
            shorter[name] = None
    for text_limit, list_limit in _STEPS:
        candidate = {
            key: value if key in _KEPT else _shortened(value, text_limit, list_limit) for key, value in shorter.items()
        }
        candidate["summary"] = f"{str(result.get('summary', ''))[:1000]} [Cut to fit. {where}]"
        if fits(candidate):
            return candidate
    return _bare(result, where)


def _bare(result: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the common fields alone, the last resort for a result no shortening makes small."""
    kept = {key: value for key, value in result.items() if key in _KEPT or not isinstance(value, (list, dict, str))}
    artifacts = cast("list[Any]", result.get("artifacts") or [])
    return {
        **kept,
        "artifacts": artifacts[:20],
        "summary": f"{str(result.get('summary', ''))[:1000]} [Cut to fit. {where}]",
    }


def _shortened(value: Any, text_limit: int, list_limit: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= text_limit else f"{value[:text_limit]}… [{len(value) - text_limit} more]"
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: item if key in _KEPT else _shortened(item, text_limit, list_limit) for key, item in items}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        numbers = all(isinstance(item, (int, float)) or item is None for item in items)
        shown = items if numbers and len(items) <= 16 else items[:list_limit]
        return [_shortened(item, text_limit, list_limit) for item in shown]
    return value
