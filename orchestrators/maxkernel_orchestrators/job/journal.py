"""Every finished step of a job, in SQLite, so that a run that is killed at any moment goes on where it was.

The orchestrator is written as if it always started from the beginning; a step that is in the journal is not done
again but answered from it. For that, what a step is asked must follow from earlier answers alone.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
CREATE TABLE IF NOT EXISTS spending (
    key TEXT PRIMARY KEY, candidate TEXT NOT NULL, fault TEXT NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, usd REAL
);
CREATE TABLE IF NOT EXISTS efforts (key TEXT PRIMARY KEY, candidate TEXT NOT NULL);
"""
_VERSION = 1
_TOUCH_S = 1.0
_Result = TypeVar("_Result", bound=Record)
_CANDIDATE: ContextVar[str] = ContextVar("candidate", default="")


class Spending(Record):
    """What one exchange with a mind's speaker cost.

    Attributes:
        fault: the kind of fault it ended with, or empty.
        usd: its price; None where nobody knows it.
    """

    fault: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


@contextmanager
def spending_on(candidate: str) -> Generator[None]:
    """Book every step inside on this candidate."""
    token = _CANDIDATE.set(candidate)
    try:
        yield
    finally:
        _CANDIDATE.reset(token)


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
        (self._earlier_s,) = self._connection.execute(
            "SELECT COALESCE(SUM(seen - started), 0.0) FROM sessions"
        ).fetchone()
        self._started = self._touched = time.time()
        self._session = self._connection.execute(
            "INSERT INTO sessions VALUES (?, ?)", (self._started, self._started)
        ).lastrowid
        self.replayed = 0

    def close(self) -> None:
        """Close the database."""
        self._touched = 0.0
        self.touch()
        self._connection.close()

    def touch(self) -> None:
        """Note that the job is alive, for the ledger of wall time; once a second is enough."""
        now = time.time()
        if now - self._touched >= _TOUCH_S:
            self._connection.execute("UPDATE sessions SET seen = ? WHERE rowid = ?", (now, self._session))
            self._touched = now

    def wall_s(self) -> float:
        """Wall time of all sessions so far."""
        self.touch()
        return float(self._earlier_s) + time.time() - self._started

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
        *,
        spent: Callable[[_Result], Spending] | None = None,
    ) -> _Result:
        """Return the answer of a step: the journal's where it is finished, else ``do``'s, which is then kept.

        Args:
            kind: what sort of step, e.g. the tool's name.
            asked: everything the answer depends on.
            model: the record the answer is.
            do: does the step.
            keep: whether an answer is final; all are, by default.
            spent: what it cost, for the ledger, where it was an exchange.
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
            row = (key, kind, text, answer.model_dump_json(), time.monotonic() - began, time.time())
            self._write(row, spent(answer) if spent else None)
        self.touch()
        return answer

    def _write(self, row: tuple[object, ...], spending: Spending | None) -> None:
        """Store a step with its cost, both or neither."""
        candidate = _CANDIDATE.get()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.execute("INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?)", row)
            if candidate:
                self._connection.execute("INSERT OR REPLACE INTO efforts VALUES (?, ?)", (row[0], candidate))
            if spending is not None:
                figures = (spending.fault, spending.input_tokens, spending.output_tokens, spending.usd)
                self._connection.execute(
                    "INSERT OR REPLACE INTO spending VALUES (?, ?, ?, ?, ?, ?)", (row[0], candidate, *figures)
                )
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def exchanged(self) -> tuple[int, int, float | None, int]:
        """Tokens in and out, money (None where one price is unknown) and number of all exchanges."""
        row = self._connection.execute(
            "SELECT COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0), COALESCE(SUM(usd), 0),"
            " COUNT(*), COUNT(usd) FROM spending"
        ).fetchone()
        return int(row[0]), int(row[1]), float(row[2]) if row[3] == row[4] else None, int(row[3])

    def exchanged_by_candidate(self) -> dict[str, tuple[int, int, float | None]]:
        """Tokens in and out and money by candidate."""
        rows = self._connection.execute(
            "SELECT candidate, SUM(input_tokens), SUM(output_tokens), SUM(usd), COUNT(*), COUNT(usd)"
            " FROM spending WHERE candidate != '' GROUP BY candidate"
        ).fetchall()
        return {row[0]: (int(row[1]), int(row[2]), float(row[3]) if row[4] == row[5] else None) for row in rows}

    def faults(self) -> dict[str, int]:
        """How often each kind of fault of a mind's speaker occurred."""
        rows = self._connection.execute(
            "SELECT fault, COUNT(*) FROM spending WHERE fault != '' GROUP BY fault ORDER BY fault"
        ).fetchall()
        return {row[0]: int(row[1]) for row in rows}

    def seconds_by_candidate(self, kinds: Sequence[str]) -> dict[str, float]:
        """Time spent in steps of some kinds by candidate."""
        found: dict[str, float] = {}
        for kind in kinds:
            rows = self._connection.execute(
                "SELECT candidate, SUM(seconds) FROM efforts JOIN steps USING (key) WHERE kind = ? GROUP BY candidate",
                (kind,),
            ).fetchall()
            for name, seconds in rows:
                found[name] = found.get(name, 0.0) + float(seconds)
        return found

    def answers(self, kind: str, model: type[_Result]) -> list[_Result]:
        """Every finished step's answer of one kind, in order."""
        rows = self._connection.execute("SELECT answer FROM steps WHERE kind = ? ORDER BY created", (kind,)).fetchall()
        return [model.model_validate_json(row[0]) for row in rows]

    def keep_candidate(self, name: str, position: int, record: Record) -> None:
        """Store a candidate, replacing what was known of it."""
        self._connection.execute(
            "INSERT OR REPLACE INTO candidates VALUES (?, ?, ?)", (name, position, record.model_dump_json())
        )

    def candidate(self, name: str, model: type[_Result]) -> _Result | None:
        """One candidate, or None."""
        row = self._connection.execute("SELECT record FROM candidates WHERE name = ?", (name,)).fetchone()
        return None if row is None else model.model_validate_json(row[0])

    def candidates(self, model: type[_Result]) -> list[_Result]:
        """Every candidate in order."""
        rows = self._connection.execute("SELECT record FROM candidates ORDER BY position").fetchall()
        return [model.model_validate_json(row[0]) for row in rows]
