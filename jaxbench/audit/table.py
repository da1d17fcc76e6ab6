"""The audit's table: per task and mode, what was tried, what passes, at which dims. Committed as data."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.tasks import TaskFacts

TABLE_FILE: Final = Path(__file__).resolve().parents[1] / "data" / "audit.json"
LEGAL_LABELS: Final = frozenset({"dead-algebra", "dead-input", "algebraic-shortcut"})
"""Labels that explain a trivial solution passing in hardened mode."""


class ModeAudit(Record):
    """One mode of one task.

    Attributes:
        dims: sizes it was measured at. ``dtype``: of the draw.
        tried: every solution tried.
        passes: those the grader's comparison lets pass (in hardened mode on the whole family of shapes).
        passes_flat: those the flat tolerance the task was published with lets pass.
        honest: a version that keeps f32 inside passes the grader. ``honest_flat``: and the flat tolerance.
    """

    dims: dict[str, int]
    dtype: str
    tried: tuple[str, ...]
    passes: tuple[str, ...]
    passes_flat: tuple[str, ...]
    honest: bool
    honest_flat: bool


class TaskAudit(Record):
    """All modes of one task. ``classic`` is the fixed published version, ``original`` the first where it differs."""

    task: str
    reference_sha256: str
    labels: tuple[str, ...] = ()
    hardened: ModeAudit | None = None
    classic: ModeAudit | None = None
    original: ModeAudit | None = None

    @property
    def classic_passes(self) -> tuple[str, ...]:
        """What published inputs and tolerance let pass, in either published version."""
        parts = [mode.passes_flat for mode in (self.original, self.classic) if mode is not None]
        return tuple(dict.fromkeys(name for part in parts for name in part))

    def leaks(self, facts: TaskFacts) -> tuple[str, ...]:
        """Return what passes in hardened mode without a label that explains it."""
        if self.hardened is None:
            return ()
        return tuple(name for name in self.hardened.passes if not explained(name, facts))


class AuditTable(Record):
    """The table of all tasks."""

    tasks: tuple[TaskAudit, ...] = ()

    def of(self, task: str) -> TaskAudit | None:
        """Return the audit of one task."""
        return next((audit for audit in self.tasks if audit.task == task), None)

    def merged(self, audit: TaskAudit) -> AuditTable:
        """Return the table with ``audit`` in the place of the task's earlier one; modes not audited now are kept."""
        earlier = self.of(audit.task)
        if earlier is not None and earlier.reference_sha256 == audit.reference_sha256:
            kept = {
                name: getattr(audit, name) or getattr(earlier, name) for name in ("hardened", "classic", "original")
            }
            audit = audit.model_copy(update=kept)
        others = tuple(other for other in self.tasks if other.task != audit.task)
        return AuditTable(tasks=(*others, audit))


def explained(solution: str, facts: TaskFacts) -> bool:
    """Whether a label of the task says why ``solution`` passes."""
    if not LEGAL_LABELS & {label.name for label in facts.labels}:
        return False
    if solution.startswith("shortcut:"):
        return True
    dead = {entry.name for entry in facts.inputs if entry.dead}
    if solution.startswith("ignored:"):
        return solution.removeprefix("ignored:").split("=")[0] in dead
    if solution.startswith("dropped-terms:"):
        dim = solution.removeprefix("dropped-terms:")
        first = next((entry for entry in facts.inputs if entry.role in ("data", "weight") and dim in entry.shape), None)
        return first is not None and first.name in dead
    return False


def read_table(path: Path) -> AuditTable:
    """Read a table.

    Raises:
        MisuseError: there is none, or it is not one of ours.
    """
    try:
        return AuditTable.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise MisuseError(
            f"{path} cannot be read as an audit table: {str(error).splitlines()[0]}.",
            allowed="a file `jaxbench audit --output FILE` wrote.",
            action="Name such a file.",
        ) from None


@lru_cache(maxsize=1)
def committed_table() -> dict[str, TaskAudit]:
    """Return the committed table by task id; empty where the package comes without it."""
    if not TABLE_FILE.is_file():
        return {}
    return {audit.task: audit for audit in read_table(TABLE_FILE).tasks}
