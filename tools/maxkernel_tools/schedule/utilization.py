"""Reads ``*final_hlo-static-per-bundle-utilization.txt``: issue slots used per unit, one line a bundle."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxkernel_tools.schedule.unknown import UnknownFormatError

_OLD_NAMES = {"LOAD": "VLOAD", "STORE": "VSTORE"}


@dataclass(frozen=True)
class Utilization:
    """Use of issue slots.

    Attributes:
        units: column names in order.
        capacity: slots per bundle, by unit.
        used: ``int64[bundles, units]``.
    """

    units: tuple[str, ...]
    capacity: dict[str, int]
    used: np.ndarray[Any, np.dtype[np.int64]]

    def weighted(self, weights: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
        """Return slots used by each unit when bundle ``i`` issues ``weights[i]`` times."""
        count = min(len(weights), len(self.used))
        totals = weights[:count] @ self.used[:count]
        return {unit: float(total) for unit, total in zip(self.units, totals, strict=True)}


def parse_utilization(text: str) -> Utilization:
    """Parse the dump.

    Raises:
        UnknownFormatError: the header, the capacity row or a row has another form.
    """
    lines = text.split("\n", 4)
    if len(lines) < 4 or "UTILIZATION" not in text[:400]:
        raise UnknownFormatError("utilization", "no capacity header")
    # Older versions write "MXU| XLU| ... LOAD|STORE", newer ones "MXU, XLU, ... VLOAD, VLOAD:FILL".
    names = (part.strip() for part in re.split(r"[,|]", lines[1]))
    units = tuple(_OLD_NAMES.get(name, name) for name in names)
    unknown = [unit for unit in ("MXU", "VALU") if unit not in units]
    if unknown or not units:
        raise UnknownFormatError("utilization", f"columns {units}")
    try:
        capacity = [int(part) for part in lines[2].split()]
        flat = np.array((lines[4] if len(lines) > 4 else "").split(), dtype=np.int64)
    except ValueError as error:
        raise UnknownFormatError("utilization", f"not a number ({error})") from error
    if len(capacity) != len(units) or flat.size % len(units):
        raise UnknownFormatError("utilization", "rows of another width than the header")
    return Utilization(units, dict(zip(units, capacity, strict=True)), flat.reshape(-1, len(units)))
