"""The HTML view of a diff: one file that needs nothing else. Owns what is embedded and how it is made harmless.

The page's script builds every node from text (``textContent``), so a name in a capture is never markup. A policy in
the page itself forbids it to load anything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from maxkernel_tools.diffing.tool import TraceDiff
from maxkernel_tools.records.diffs import ScheduleRow

_FOLDER: Final = Path(__file__).parent / "page"
_HARMLESS: Final = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}
_MAX_ROWS: Final = 1500
_MAX_POINTS: Final = 240
_ALL_POINTS: Final = 160_000


def diff_page(found: TraceDiff) -> str:
    """Return the page of a comparison of captures."""
    rows = [row.model_dump(mode="json", exclude_defaults=True) for row in found.rows[:_MAX_ROWS]]
    left = _ALL_POINTS
    for row, (one, two) in zip(rows, found.samples, strict=False):
        points = min(_MAX_POINTS, len(one)) + min(_MAX_POINTS, len(two))
        if points > left:
            continue
        left -= points
        row["strip"] = [_thinned(one), _thinned(two)]
    head = found.result.model_dump(mode="json", exclude={"rows", "findings", "artifacts", "took_ms"})
    return _page({"result": head, "rows": rows, "rows_total": len(found.rows)})


def schedule_page(result: Any, rows: Sequence[ScheduleRow]) -> str:
    """Return the page of a comparison of two schedule profiles."""
    head = result.model_dump(mode="json", exclude={"rows", "schedule", "findings", "artifacts", "took_ms"})
    parts = [row.model_dump(mode="json", exclude_defaults=True) for row in rows[: 2 * _MAX_ROWS]]
    return _page({"result": head, "rows": [], "rows_total": 0, "schedule": parts, "schedule_total": len(rows)})


def _thinned(samples: Sequence[int]) -> dict[str, Any]:
    """Return at most as many calls as a plot can show, evenly chosen, in µs; ``step`` calls lie between two."""
    step = max(1, -(-len(samples) // _MAX_POINTS))
    return {"step": step, "calls": len(samples), "us": [round(value / 1e6, 6) for value in samples[::step]]}


def _page(data: dict[str, Any]) -> str:
    # Inside a script element only these could end it or open a comment; as escapes they are the same JSON.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character, escape in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(character, escape)
    parts = {name: (_FOLDER / name).read_text(encoding="utf-8") for name in ("diff.html", "diff.css", "diff.js")}
    before, _, rest = parts["diff.html"].partition("/*STYLE*/")
    middle, _, rest = rest.partition("/*DATA*/")
    after, _, end = rest.partition("/*SCRIPT*/")
    page = "".join((before, parts["diff.css"], middle, text, after, parts["diff.js"], end))
    # Names of captures may hold lone surrogates; a file cannot.
    return page.encode("utf-8", "backslashreplace").decode("utf-8")
