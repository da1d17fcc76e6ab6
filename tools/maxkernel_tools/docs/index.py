"""Build the index file: SQLite full-text tables over API entries and guide sections, replaced atomically."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from maxkernel_tools.docs.pages import guide_pages
from maxkernel_tools.records.docs import ApiEntry

_SCHEMA: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, name TEXT, qualified TEXT, short TEXT, kind TEXT, signature TEXT, doc TEXT, defined_in TEXT
);
CREATE INDEX entries_short ON entries (short);
CREATE VIRTUAL TABLE entry_words USING fts5 (name, doc, tokenize = 'porter unicode61');
CREATE TABLE sections (id INTEGER PRIMARY KEY, topic TEXT, title TEXT, uri TEXT, text TEXT);
CREATE VIRTUAL TABLE section_words USING fts5 (title, text, tokenize = 'porter unicode61');
"""
_VERSION: Final = 1


def index_name(versions: Mapping[str, str]) -> str:
    """Return the file name of the index for these package versions and this guide: another name, another content."""
    text = "\n".join(
        [str(_VERSION), *(f"{k}={v}" for k, v in sorted(versions.items())), *(p.text for p in guide_pages())]
    )
    return f"docs-{hashlib.sha256(text.encode()).hexdigest()[:16]}.sqlite3"


def build_index(path: Path, entries: Iterable[ApiEntry], versions: Mapping[str, str]) -> None:
    """Write the index to ``path``; a reader sees the old file or the whole new one.

    Raises:
        OSError: it cannot be written.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(draft)) as database:
            database.executescript(_SCHEMA)
            database.executemany("INSERT INTO facts VALUES (?, ?)", versions.items())
            _insert_entries(database, entries)
            _insert_guide(database)
            database.commit()
        draft.replace(path)
    except sqlite3.Error as error:
        raise OSError(f"the index cannot be written: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


def _insert_entries(database: sqlite3.Connection, entries: Iterable[ApiEntry]) -> None:
    for number, entry in enumerate(entries, start=1):
        short = entry.name.rsplit(".", 1)[-1].lower()
        row = (number, entry.name, entry.qualified, short, entry.kind, entry.signature, entry.doc, entry.defined_in)
        database.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        words = f"{split_name(entry.name)} {entry.name.rsplit('.', 1)[-1]}"
        database.execute("INSERT INTO entry_words (rowid, name, doc) VALUES (?, ?, ?)", (number, words, entry.doc))


def _insert_guide(database: sqlite3.Connection) -> None:
    number = 0
    for page in guide_pages():
        for heading, text in page.sections:
            number += 1
            title = page.title if heading == page.title else f"{page.title}: {heading}"
            database.execute("INSERT INTO sections VALUES (?, ?, ?, ?, ?)", (number, page.topic, title, page.uri, text))
            words = f"{title} {split_name(page.topic)}"
            spoken = re.sub(r"```.*?```", "", text, flags=re.DOTALL)  # code is shown, not searched: it has every word
            database.execute("INSERT INTO section_words (rowid, title, text) VALUES (?, ?, ?)", (number, words, spoken))


def split_name(name: str) -> str:
    """Return the words of a name: ``pltpu.PrefetchScalarGridSpec`` gives ``pltpu Prefetch Scalar Grid Spec``."""
    spaced = re.sub(r"[._\-]+", " ", name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", spaced)
