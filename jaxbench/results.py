"""Result rows and the two files they lie in. Owns form and atomic writing; what is in them comes from the lab.

``results.csv`` is for spreadsheets, ``results.json`` holds the same rows with types. Both are rewritten whole after
every task, so that an interrupted run can be taken up where it stopped.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError

from maxkernel_lab.locks import write_atomically
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.tasks import Mode

BENCHMARK: Final = "jaxbench"
CSV_FILE: Final = "results.csv"
JSON_FILE: Final = "results.json"


class ResultRow(Record):
    """One task: its reference timed, or a kernel graded. Times in microseconds; an estimate says so in its source.

    Attributes:
        labels: names of the task's labels, joined by spaces; scores with labels are reported apart.
        subject: ``reference`` or ``kernel``.
        status: ``failed`` means the lab failed or the reference did not compile; it is tried again on resume.
        lets_pass: in classic mode, what a wrong kernel could get away with on the published inputs and tolerance, as
            the audit measured it.
        published_us: a published time for the same target, where it is comparable.
        task_sha256: hash of the task's files; a row of another hash is not resumed from.
    """

    task: str
    benchmark: str = BENCHMARK
    split: str
    mode: Mode = "hardened"
    labels: str = ""
    lets_pass: str = ""
    subject: Literal["reference", "kernel"] = "reference"
    status: Literal["done", "failed"] = "done"
    target: str = ""
    verdict: str = ""
    time_us: float | None = None
    time_source: str = "none"
    low_us: float | None = None
    high_us: float | None = None
    bound_by: str = ""
    roofline_us: float | None = None
    roofline_fraction: float | None = None
    reference_us: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    significant: bool | None = None
    published_us: float | None = None
    published_source: str = ""
    flops: int | None = None
    hbm_bytes: int | None = None
    run_id: str = ""
    kernel: str = ""
    kernel_sha256: str = ""
    task_sha256: str = ""
    took_ms: int = 0
    message: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a later row of the same replaces."""
        return (self.task, self.mode, self.subject, self.target)


class Results:
    """The rows of one output folder, keyed so that a later row replaces an earlier one of the same task."""

    def __init__(self, folder: Path, rows: Iterable[ResultRow] = ()) -> None:
        self._folder = folder
        self._rows = {row.key: row for row in rows}

    @classmethod
    def open(cls, folder: Path) -> Results:
        """Return what ``folder`` holds; nothing where there is none yet.

        Raises:
            MisuseError: its ``results.json`` is not one of ours.
        """
        path = folder / JSON_FILE
        return cls(folder, read_rows(path) if path.is_file() else ())

    @property
    def rows(self) -> tuple[ResultRow, ...]:
        """All rows, in the order they were first written."""
        return tuple(self._rows.values())

    def find(self, key: tuple[str, str, str, str]) -> ResultRow | None:
        """Return the row of ``key``."""
        return self._rows.get(key)

    def put(self, row: ResultRow) -> None:
        """Add or replace a row and write both files.

        Raises:
            MisuseError: the folder cannot be written.
        """
        self._rows[row.key] = row
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._folder / CSV_FILE, as_csv(self.rows).encode())
            write_atomically(self._folder / JSON_FILE, as_json(self.rows).encode())
        except OSError as error:
            raise MisuseError(
                f"The results cannot be written: {error}.",
                allowed="a folder you may write.",
                action="Name another with --output.",
            ) from None


def as_csv(rows: Sequence[ResultRow]) -> str:
    """Return the rows as CSV, ``task, benchmark, split, mode`` first."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(ResultRow.model_fields), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        values = row.model_dump(mode="json")
        writer.writerow({name: "" if value is None else value for name, value in values.items()})
    return text.getvalue()


def as_json(rows: Sequence[ResultRow]) -> str:
    """Return the rows as a JSON document."""
    return json.dumps({"benchmark": BENCHMARK, "rows": [row.model_dump(mode="json") for row in rows]}, indent=1) + "\n"


def read_rows(path: Path) -> tuple[ResultRow, ...]:
    """Read ``results.json`` or ``results.csv``, or the folder that holds them.

    Raises:
        MisuseError: there is no such file, or it has another form.
    """
    if path.is_dir():
        path = path / JSON_FILE if (path / JSON_FILE).is_file() else path / CSV_FILE
    try:
        text = path.read_text(encoding="utf-8")
        raw = _json_rows(text) if path.suffix == ".json" else _csv_rows(text)
        return tuple(ResultRow.model_validate(row) for row in raw)
    except (OSError, ValueError, ValidationError, KeyError, TypeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MisuseError(
            f"{path} cannot be read as results: {why}.",
            allowed=f"{JSON_FILE} or {CSV_FILE} as `jaxbench evaluate` and `jaxbench run` write them.",
            action="Name such a file or the folder that holds it.",
        ) from None


def _json_rows(text: str) -> list[dict[str, Any]]:
    document = json.loads(text)
    return list(document["rows"])


def _csv_rows(text: str) -> list[dict[str, Any]]:
    known = ResultRow.model_fields
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    if rows and "task" not in rows[0]:
        raise ValueError("it has no column task")
    return [{name: value for name, value in row.items() if name in known and value != ""} for row in rows]
