"""The catalogue of moves, as data: what can be changed, when it helps, what it should do to a profile."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final

from maxkernel_tools.records.base import Record

OWN_MOVE: Final = "own kernel"
"""The move of a kernel the run starts from: nobody here planned it."""
STOP_MOVE: Final = "stop"
"""The planner's word that nothing is left that is likely to pay."""


class Move(Record):
    """One kind of change.

    Attributes:
        helps_when: what a profile or finding shows when it is worth trying.
        changes: which figure should move, and where to.
        risks: what it may break.
    """

    name: str
    helps_when: str
    changes: str
    risks: str


@cache
def catalogue() -> tuple[Move, ...]:
    """Every known move."""
    text = files("maxkernel_orchestrators.moves").joinpath("catalogue.json").read_text(encoding="utf-8")
    return tuple(Move.model_validate(entry) for entry in json.loads(text))


def catalogue_words(only: str = "") -> str:
    """The catalogue as a planner reads it; ``only`` the move that is wanted, where one is."""
    lines = [
        f"- {move.name}: when {move.helps_when}. Should change: {move.changes}. Risks: {move.risks}."
        for move in catalogue()
        if only in {"", move.name}
    ]
    if only:
        lines.append(f"This time the move is {only}: plan it on the kernel above, as well as it can be done.")
    return "\n".join(lines)
