"""Joins the compiler's dumps into listings a person can page through: schedule, unit use, Mosaic passes."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from maxkernel_tools.runtime import PASSES_FOLDER

LISTING_BUDGET_BYTES: Final = 4 << 20
"""A listing beyond it ends at a file boundary, with a line that says what was left out."""

_KINDS: Final[Mapping[str, re.Pattern[str]]] = {
    "final-schedule": re.compile(r"-\d+-final_bundles\.txt\.gz$"),
    "unit-use": re.compile(r"(-final_hlo-static-per-bundle-utilization|-schedule-analysis_final_bundles)\.txt\.gz$"),
}


def listings(dump_dir: Path) -> dict[str, str]:
    """Return the listings that ``dump_dir`` holds, by kind: ``final-schedule``, ``unit-use``, ``mosaic-passes``."""
    files = sorted(path for path in dump_dir.iterdir() if path.is_file())
    found = {kind: _joined([path for path in files if pattern.search(path.name)]) for kind, pattern in _KINDS.items()}
    passes = dump_dir / PASSES_FOLDER
    found["mosaic-passes"] = _joined(sorted(passes.iterdir())) if passes.is_dir() else ""
    return {kind: text for kind, text in found.items() if text}


def _joined(files: Sequence[Path]) -> str:
    parts: list[str] = []
    total = 0
    for number, path in enumerate(files):
        with gzip.open(path) as file:
            text = file.read(LISTING_BUDGET_BYTES - total + 1).decode("utf-8", "replace")
        total += len(text)
        if total > LISTING_BUDGET_BYTES:
            left = ", ".join(other.name.removesuffix(".gz") for other in files[number:])
            parts.append(f"==== left out for size: {left}\n")
            break
        parts.append(f"==== {path.name.removesuffix('.gz')}\n{text.rstrip()}\n")
    return "\n".join(parts)
