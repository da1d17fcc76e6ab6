"""Runs, their stages and their artifacts: every question the lab asks of its store, in one place."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from maxkernel_lab.home import Home
from maxkernel_lab.store.artifacts import ArtifactFolder, artifact_name, artifact_uri
from maxkernel_lab.store.database import Database
from maxkernel_tools.records.jobs import RunLine, StageRecord
from maxkernel_tools.records.results import Artifact


@dataclass(frozen=True)
class RunRow:
    """What is known of a run before any stage.

    Attributes:
        kind: ``candidate``, or ``task`` for what belongs to a task itself.
        benchmark: the catalogue a task comes from. ``split``: its split.
        label: task id, or the inputs as text.
        config: targets' toolchain, settings and the like, for reading later.
    """

    run_id: str
    label: str
    kind: str = "candidate"
    task: str | None = None
    benchmark: str | None = None
    split: str | None = None
    inputs: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source_sha256: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    created: str = ""


@dataclass(frozen=True)
class StageRow:
    """One tool call on a run.

    Attributes:
        mode: ``hardened`` or ``classic`` inputs.
        result: the whole structured result.
    """

    run_id: str
    stage: str
    ok: bool | None
    summary: str
    result: Mapping[str, Any]
    target: str | None = None
    mode: str | None = None
    verdict: str | None = None
    time_us: float | None = None
    time_source: str | None = None
    speedup: float | None = None


class RunStore:
    """The store of one home folder. Thread-safe; every method is one short transaction or query."""

    def __init__(self, home: Home) -> None:
        self._database = Database(home.database)
        self._artifacts = ArtifactFolder(home.artifacts)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def ensure_run(self, row: RunRow) -> None:
        """Make the run's record unless it is there."""
        values = (
            row.run_id,
            row.created or now(),
            row.kind,
            row.task,
            row.benchmark,
            row.split,
            row.label,
            json.dumps(list(row.inputs)),
            json.dumps(dict(row.params), sort_keys=True),
            row.source_sha256,
            json.dumps(dict(row.config), sort_keys=True),
        )
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO runs (run_id, created, kind, task, benchmark, split, label, inputs, params,"
                " source_sha256, config) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                values,
            )

    def add_stage(self, row: StageRow) -> None:
        """Append a finished stage to its run."""
        values = (
            row.run_id,
            row.stage,
            now(),
            None if row.ok is None else int(row.ok),
            row.summary,
            row.target,
            row.mode,
            row.verdict,
            row.time_us,
            row.time_source,
            row.speedup,
            json.dumps(row.result),
        )
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO stages (run_id, stage, created, ok, summary, target, mode, verdict, time_us, time_source,"
                " speedup, result) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                values,
            )

    def put_artifact(self, run_id: str, name: str, kind: str, data: bytes | Path) -> Artifact:
        """Keep ``data`` as artifact ``name`` of the run."""
        safe = artifact_name(name)
        sha256, size = self._artifacts.add(data)
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO artifacts (run_id, name, kind, sha256, bytes, created) VALUES (?,?,?,?,?,?)"
                " ON CONFLICT (run_id, name) DO UPDATE SET kind=excluded.kind, sha256=excluded.sha256,"
                " bytes=excluded.bytes, created=excluded.created",
                (run_id, safe, kind, sha256, size, now()),
            )
        return Artifact(uri=artifact_uri(run_id, safe), kind=kind, bytes=size)

    def artifact_path(self, run_id: str, name: str) -> tuple[Path, str] | None:
        """Return the file and kind of an artifact, or None."""
        rows = self._database.read("SELECT sha256, kind FROM artifacts WHERE run_id=? AND name=?", (run_id, name))
        return (self._artifacts.path(rows[0]["sha256"]), rows[0]["kind"]) if rows else None

    def artifacts(self, run_id: str) -> tuple[Artifact, ...]:
        """Return the run's artifacts by name."""
        rows = self._database.read("SELECT name, kind, bytes FROM artifacts WHERE run_id=? ORDER BY name", (run_id,))
        return tuple(
            Artifact(uri=artifact_uri(run_id, row["name"]), kind=row["kind"], bytes=row["bytes"]) for row in rows
        )

    def run(self, run_id: str) -> RunRow | None:
        """Return a run's record, or None."""
        rows = self._database.read("SELECT * FROM runs WHERE run_id=?", (run_id,))
        return _run_row(rows[0]) if rows else None

    def stages(self, run_id: str) -> tuple[StageRecord, ...]:
        """Return the run's stages, oldest first."""
        rows = self._database.read("SELECT * FROM stages WHERE run_id=? ORDER BY id", (run_id,))
        return tuple(
            StageRecord(
                stage=row["stage"],
                created=row["created"],
                ok=_bool(row["ok"]),
                summary=row["summary"],
                result=json.loads(row["result"]),
            )
            for row in rows
        )

    def last_result(self, run_id: str, stage: str, target: str | None = None) -> dict[str, Any] | None:
        """Return the newest result of ``stage`` (for ``target``), or None."""
        rows = self._database.read(
            "SELECT result FROM stages WHERE run_id=? AND stage=? AND (? IS NULL OR target=?) ORDER BY id DESC LIMIT 1",
            (run_id, stage, target, target),
        )
        return json.loads(rows[0]["result"]) if rows else None

    def verdicts(self, run_id: str) -> tuple[tuple[str | None, dict[str, Any]], ...]:
        """Return the verdict in the index and the whole result of each of the run's tests, oldest first."""
        rows = self._database.read(
            "SELECT verdict, result FROM stages WHERE run_id=? AND stage='test' ORDER BY id", (run_id,)
        )
        return tuple((row["verdict"], json.loads(row["result"])) for row in rows)

    def list_runs(
        self, *, task: str | None, kind: str | None, verdict: str | None, limit: int
    ) -> tuple[tuple[RunLine, ...], int]:
        """Return the newest runs that fit the filters, and how many fit in all."""
        where, parameters = ["1"], list[object]()
        for column, value in (("task", task), ("kind", kind), ("verdict", verdict)):
            if value:
                where.append(f"{column}=?")
                parameters.append(value)
        # Column names come from the literal tuple above; values are bound.
        query = f"FROM ({_SUMMARY}) WHERE {' AND '.join(where)}"
        total = self._database.read(f"SELECT COUNT(*) AS n {query}", tuple(parameters))[0]["n"]
        rows = self._database.read(f"SELECT * {query} ORDER BY created DESC, run_id LIMIT ?", (*parameters, limit))
        return tuple(_run_line(row) for row in rows), total

    def result_rows(self) -> list[Mapping[str, Any]]:
        """Return one mapping per candidate run for ``results.csv``, oldest first."""
        rows = self._database.read(f"SELECT * FROM ({_SUMMARY}) WHERE kind='candidate' ORDER BY created, run_id")  # noqa: S608
        return [dict(row) for row in rows]

    def add_job(self, job_id: str, kind: str, label: str, run_id: str | None) -> None:
        """Enter a job into the index."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO jobs (job_id, created, kind, label, run_id) VALUES (?,?,?,?,?)",
                (job_id, now(), kind, label, run_id),
            )

    def job_ids(self, limit: int) -> Sequence[str]:
        """Return the newest jobs."""
        rows = self._database.read("SELECT job_id FROM jobs ORDER BY created DESC, job_id LIMIT ?", (limit,))
        return [row["job_id"] for row in rows]


# One row per run: its record, and the newest verdict and profile of its stages.
_SUMMARY = """
SELECT r.run_id, r.created, r.kind, r.task, r.benchmark, r.split, r.label, r.params, r.source_sha256,
       t.verdict, COALESCE(t.mode, 'hardened') AS mode, p.target, p.time_us, p.time_source, p.speedup, s.ok, s.stage
FROM runs r
LEFT JOIN stages t ON t.id = (SELECT MAX(id) FROM stages WHERE run_id=r.run_id AND stage='test')
LEFT JOIN stages p ON p.id = (SELECT MAX(id) FROM stages WHERE run_id=r.run_id AND stage='profile')
LEFT JOIN stages s ON s.id = (SELECT MAX(id) FROM stages WHERE run_id=r.run_id)
"""


def now() -> str:
    """Return the time as ISO 8601 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _bool(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _run_row(row: sqlite3.Row) -> RunRow:
    return RunRow(
        run_id=row["run_id"],
        created=row["created"],
        kind=row["kind"],
        task=row["task"],
        benchmark=row["benchmark"],
        split=row["split"],
        label=row["label"],
        inputs=tuple(json.loads(row["inputs"])),
        params=json.loads(row["params"]),
        source_sha256=row["source_sha256"],
        config=json.loads(row["config"]),
    )


def _run_line(row: sqlite3.Row) -> RunLine:
    return RunLine(
        run_id=row["run_id"],
        created=row["created"],
        kind=row["kind"],
        task=row["task"] or row["label"],
        target=row["target"],
        verdict=row["verdict"],
        time_us=row["time_us"],
        time_source=row["time_source"],
        ok=_bool(row["ok"]),
    )
