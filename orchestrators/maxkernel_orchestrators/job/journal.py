"""Every finished step of a job, in SQLite, so that a run that is killed at any moment goes on where it was.

The orchestrator is written as if it always started from the beginning; a step that is in the journal is not done
again but answered from it. For that, what a step is asked must follow from earlier answers alone.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from maxkernel_tools.records.base import Record

_SCHEMA = """
CREATE TABLE IF NOT EXISTS steps (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, asked TEXT NOT NULL, answer TEXT NOT NULL,
    seconds REAL NOT NULL, created REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS candidates (
    name TEXT PRIMARY KEY, position INTEGER NOT NULL, record TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS sessions (started REAL NOT NULL, seen REAL NOT NULL);
"""
_VERSION = 1
_Result = TypeVar("_Result", bound=Record)


class Journal:
    """The journal of one job.

    Args:
        path: ``journal.sqlite3`` in the job's folder.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        # WAL and a full sync per commit: what was answered stays answered through kill -9 and a power cut.
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.executescript(_SCHEMA)
        self._connection.execute(f"PRAGMA user_version={_VERSION}")
        self._started = time.time()
        self._session = self._connection.execute(
            "INSERT INTO sessions VALUES (?, ?)", (self._started, self._started)
        ).lastrowid
        self.replayed = 0

    def close(self) -> None:
        """Close the database."""
        self.touch()
        self._connection.close()

    def touch(self) -> None:
        """Note that the job is alive, for the ledger of wall time."""
        self._connection.execute("UPDATE sessions SET seen = ? WHERE rowid = ?", (time.time(), self._session))

    def wall_s(self) -> float:
        """Wall time of all sessions so far."""
        self.touch()
        row = self._connection.execute("SELECT COALESCE(SUM(seen - started), 0) FROM sessions").fetchone()
        return float(row[0])

    def seconds(self, kind: str) -> float:
        """Time spent in steps of one kind."""
        row = self._connection.execute("SELECT COALESCE(SUM(seconds), 0) FROM steps WHERE kind = ?", (kind,)).fetchone()
        return float(row[0])

    def count(self, kind: str) -> int:
        """Number of finished steps of one kind."""
        return int(self._connection.execute("SELECT COUNT(*) FROM steps WHERE kind = ?", (kind,)).fetchone()[0])

    async def step(
        self,
        kind: str,
        asked: Mapping[str, Any],
        model: type[_Result],
        do: Callable[[], Awaitable[_Result]],
        keep: Callable[[_Result], bool] | None = None,
    ) -> _Result:
        """Return the answer of a step: the journal's where it is finished, else ``do``'s, which is then kept.

        Args:
            kind: what sort of step, e.g. the tool's name.
            asked: everything the answer depends on.
            model: the record the answer is.
            do: does the step.
            keep: whether an answer is final; all are, by default.
        """
        text = json.dumps(asked, sort_keys=True)
        key = hashlib.sha256(f"{kind}\n{text}".encode()).hexdigest()
        row = self._connection.execute("SELECT answer FROM steps WHERE key = ?", (key,)).fetchone()
        if row is not None:
            self.replayed += 1
            return model.model_validate_json(row[0])
        began = time.monotonic()
        answer = await do()
        if keep is None or keep(answer):
            self._connection.execute(
                "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?)",
                (key, kind, text, answer.model_dump_json(), time.monotonic() - began, time.time()),
            )
        self.touch()
        return answer

    def answers(self, kind: str, model: type[_Result]) -> list[_Result]:
        """Every finished step's answer of one kind, in order."""
        rows = self._connection.execute("SELECT answer FROM steps WHERE kind = ? ORDER BY created", (kind,)).fetchall()
        return [model.model_validate_json(row[0]) for row in rows]

    def keep_candidate(self, name: str, position: int, record: Record) -> None:
        """Store a candidate, replacing what was known of it."""
        self._connection.execute(
            "INSERT OR REPLACE INTO candidates VALUES (?, ?, ?)", (name, position, record.model_dump_json())
        )

    def candidates(self, model: type[_Result]) -> list[_Result]:
        """Every candidate in order."""
        rows = self._connection.execute("SELECT record FROM candidates ORDER BY position").fetchall()
        return [model.model_validate_json(row[0]) for row in rows]
