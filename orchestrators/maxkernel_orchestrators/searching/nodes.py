"""What a policy knows of the graph: nodes with their outcome, and the moves that lead on from them."""

from __future__ import annotations

from typing import Final

from maxkernel_tools.records.base import Record

ROOT: Final = 0
"""The node every search starts from: nothing written yet. It has no time, and so counts for no speed-up."""


class Node(Record):
    """One candidate as policies see it.

    Attributes:
        id: its place in the order of asking; ``ROOT`` is 0.
        parent: the node it was made from; None for the root.
        move: the move that made it, e.g. ``tiling: block_m up``.
        key: hash of its text and parameters; ``program`` of the program it traces to. Either one tells that another
            move led to the same candidate again.
        state: ``root``, ``verified``, ``screened`` (timed, too slow to be worth a test), ``failed`` or ``duplicate``.
        time_us: by the clock all nodes share; None where there is none.
        bound_by: the bottleneck its profile names.
        vmem: fraction of VMEM it uses, 0 to 1; None where unknown.
        moves: what may be tried from here.
        note: what came of it, in a line.
    """

    id: int
    parent: int | None = None
    move: str = ""
    key: str = ""
    program: str = ""
    state: str = "root"
    time_us: float | None = None
    bound_by: str = "unknown"
    vmem: float | None = None
    moves: tuple[str, ...] = ()
    note: str = ""

    @property
    def open(self) -> bool:
        """Whether a search may go on from here: an invalid kernel is nobody's parent."""
        return bool(self.moves) and self.state in {"root", "verified", "screened"}

    @property
    def wins(self) -> bool:
        """Whether it may be called the best."""
        return self.state == "verified" and self.time_us is not None


class Ask(Record):
    """A policy's choice: try ``move`` from ``parent``; the outcome will be node ``id``."""

    id: int
    parent: int
    move: str
