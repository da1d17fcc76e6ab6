"""The graph of a search in SQLite: every choice before it is tried, every outcome as it happens."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from maxkernel_orchestrators.searching.nodes import ROOT, Ask, Node
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record

_SCHEMA = """
CREATE TABLE IF NOT EXISTS choices (
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL, parent INTEGER NOT NULL, move TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS nodes (id INTEGER PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class Batch(Record):
    """Choices made together, before any of their outcomes was known."""

    number: int
    asks: tuple[Ask, ...]


class Graph:
    """Nodes and choices of one search.

    Args:
        path: the database; made where it is not there.

    Attributes:
        nodes: every finished node by id.
        batches: every batch of choices, in order.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        # A commit in WAL mode outlives kill -9 of this process; what a power cut may take, the journal's answers
        # give back without asking the lab again.
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.executescript(_SCHEMA)
        self.nodes: dict[int, Node] = {}
        self._marks: dict[str, int] = {}
        for (record,) in self._connection.execute("SELECT record FROM nodes ORDER BY id"):
            self._index(Node.model_validate_json(record))
        self.batches = self._read_batches()

    def _read_batches(self) -> list[Batch]:
        asks: dict[int, list[Ask]] = {}
        rows = self._connection.execute("SELECT id, batch, parent, move FROM choices ORDER BY id")
        for node_id, number, parent, move in rows:
            asks.setdefault(number, []).append(Ask(id=node_id, parent=parent, move=move))
        return [Batch(number=number, asks=tuple(found)) for number, found in sorted(asks.items())]

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def fix(self, name: str, value: str) -> None:
        """Note what the search was begun with; it may not change on the way.

        Raises:
            MisuseError: it was begun with something else.
        """
        self._connection.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, value))
        (begun,) = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        if begun != value:
            raise MisuseError(
                f"This search was begun with {name} {begun}, not {value}.",
                allowed=f"{name} {begun}.",
                action="Resume it as it was begun, or start another job.",
            )

    @property
    def next_id(self) -> int:
        """Id of the next choice; 0 is the root."""
        return self.batches[-1].asks[-1].id + 1 if self.batches else ROOT + 1

    def planned(self, asks: Sequence[Ask]) -> Batch:
        """Record choices made together, in one transaction."""
        batch = Batch(number=len(self.batches), asks=tuple(asks))
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO choices VALUES (?, ?, ?, ?)", [(ask.id, batch.number, ask.parent, ask.move) for ask in asks]
        )
        self._connection.execute("COMMIT")
        self.batches.append(batch)
        return batch

    def finished(self, node: Node) -> None:
        """Record an outcome."""
        self._connection.execute("INSERT OR REPLACE INTO nodes VALUES (?, ?)", (node.id, node.model_dump_json()))
        self._index(node)

    def known(self, mark: str) -> Node | None:
        """Return the node whose key or program is ``mark``; None where there is none."""
        found = self._marks.get(mark) if mark else None
        return self.nodes[found] if found is not None else None

    def _index(self, node: Node) -> None:
        self.nodes[node.id] = node
        if node.state != "duplicate":
            for mark in (node.key, node.program):
                if mark:
                    self._marks.setdefault(mark, node.id)
