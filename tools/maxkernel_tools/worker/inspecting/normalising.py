"""A hash of the program a kernel traces to, so that two spellings of one program are known as one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final

_LARGEST: Final = 4000
"""Equations beyond which printing takes longer than the compile it might save."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NAMING = ("name=", "debug=", "metadata=", "cost_estimate=")
"""Parameters of a call that name or describe it and leave what it computes alone."""


def program_sha256(jaxpr: Any, pallas_equations: Iterable[Any], equations: int) -> str:
    """Return a hash of ``jaxpr`` without names, lines, addresses and cost estimates; empty for a very long one.

    Args:
        jaxpr: the whole entry's.
        pallas_equations: its ``pallas_call`` equations, in order; the printed form leaves their index maps out.
        equations: how many it has.
    """
    if equations > _LARGEST:
        return ""
    parts = [str(jaxpr)]
    for equation in pallas_equations:
        mappings = equation.params["grid_mapping"].block_mappings
        parts.extend(str(mapping.index_map_jaxpr) for mapping in mappings)
    lines = (line.strip() for part in parts for line in part.splitlines())
    kept = "\n".join(_ADDRESS.sub("", line) for line in lines if not line.startswith(_NAMING))
    return hashlib.sha256(kept.encode()).hexdigest()
