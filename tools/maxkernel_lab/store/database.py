"""The SQLite file: connection, schema version, migrations. Knows tables, not their meaning.

WAL with ``synchronous=NORMAL`` survives the death of any process; a commit is lost only if the machine itself loses
power before the next checkpoint, and then the file is still consistent (sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from maxkernel_tools.errors import MachineryError

# One entry per schema version, in order; an entry is never changed once released, only followed by another.
MIGRATIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY,
        created TEXT NOT NULL,
        kind TEXT NOT NULL,
        task TEXT,
        benchmark TEXT,
        split TEXT,
        label TEXT NOT NULL,
        inputs TEXT NOT NULL,
        params TEXT NOT NULL,
        source_sha256 TEXT,
        config TEXT NOT NULL
    );
    CREATE INDEX runs_created ON runs (created);
    CREATE INDEX runs_task ON runs (task, created);
    CREATE TABLE stages (
        id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL REFERENCES runs (run_id),
        stage TEXT NOT NULL,
        created TEXT NOT NULL,
        ok INTEGER,
        summary TEXT NOT NULL,
        target TEXT,
        mode TEXT,
        verdict TEXT,
        time_us REAL,
        time_source TEXT,
        speedup REAL,
        result TEXT NOT NULL
    );
    CREATE INDEX stages_run ON stages (run_id, id);
    CREATE TABLE artifacts (
        run_id TEXT NOT NULL REFERENCES runs (run_id),
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        created TEXT NOT NULL,
        PRIMARY KEY (run_id, name)
    );
    CREATE TABLE jobs (
        job_id TEXT PRIMARY KEY,
        created TEXT NOT NULL,
        kind TEXT NOT NULL,
        label TEXT NOT NULL,
        run_id TEXT
    );
    CREATE INDEX jobs_created ON jobs (created);
    """,
)
SCHEMA_VERSION: Final = len(MIGRATIONS)
_BUSY_S: Final = 15.0


class Database:
    """One connection, used by one thread at a time."""

    def __init__(self, path: Path, *, migrations: tuple[str, ...] = MIGRATIONS) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute("PRAGMA foreign_keys=ON")
            self._migrate(migrations)
        except sqlite3.DatabaseError as error:
            raise MachineryError(f"The run store {path} cannot be opened: {error}.") from error

    def _migrate(self, migrations: tuple[str, ...]) -> None:
        if self._version() == len(migrations):
            return
        with self.transaction() as connection:
            # Read again under the write lock: another process may have migrated meanwhile.
            version = self._version()
            if version > len(migrations):
                raise MachineryError(
                    f"The run store {self._path} has schema {version}; this version knows up to {len(migrations)}. "
                    "Upgrade maxkernel-mcp, or set MAXKERNEL_HOME to another folder."
                )
            for script in migrations[version:]:
                for statement in script.split(";"):
                    if statement.strip():
                        connection.execute(statement)
            connection.execute(f"PRAGMA user_version={len(migrations)}")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Write: all of the block's statements are committed, or none.

        Raises:
            MachineryError: the store could not be written (disk full, locked for too long).
        """
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise MachineryError(f"The run store {self._path} cannot be written: {error}.") from error
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._rollback()
                raise MachineryError(f"The run store {self._path} cannot be written: {error}.") from error
            except BaseException:
                self._rollback()
                raise

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def read(self, query: str, parameters: tuple[object, ...] = ()) -> list[sqlite3.Row]:
        """Return all rows of ``query``."""
        with self._lock:
            try:
                return self._connection.execute(query, parameters).fetchall()
            except sqlite3.Error as error:
                raise MachineryError(f"The run store {self._path} cannot be read: {error}.") from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()
