"""Search an index: by exact name, by a name like it, by the words of the documentation, in this order."""

from __future__ import annotations

import contextlib
import difflib
import re
import sqlite3
from pathlib import Path
from typing import Final

from maxkernel_tools.docs.index import split_name
from maxkernel_tools.records.docs import ApiEntry, GuidePassage, Match

_DOC_CHARS: Final = {"exact": 3000, "fuzzy": 600, "concept": 600}
_PASSAGE_CHARS: Final = 2200
_SIGNATURE_CHARS: Final = 1200
_FUZZY_CUTOFF: Final = 0.72
_MAX_QUERY_WORDS: Final = 24
# A kernel author who says "load" means Pallas's; bm25 alone would prefer the shortest documentation.
_RANKS: Final = (("pltpu.", 0), ("pl.", 1), ("pallas_ops.", 3), ("lax.", 2), ("jnp.", 3), ("jax.", 3))
# fmt: off
_STOP: Final = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "if",
    "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "so", "that", "the", "then", "there",
    "this", "to", "use", "used", "using", "want", "what", "when", "where", "which", "why", "with", "work",
    "works", "you", "your", "pallas", "jax", "tpu", "kernel",
))
# fmt: on
# What people say, in the words the documentation uses.
_SAID: Final = {
    "dma": "copy async",
    "accumulator": "scratch accumulate",
    "oom": "vmem memory limit",
    "prefetch": "scalar prefetch",
    "softmax": "softmax attention",
    "double": "buffered pipeline",
    "overlap": "async pipeline",
    "barrier": "semaphore",
    "mask": "where iota mask",
    "pad": "padding partial mask",
    "gemm": "matmul dot",
    "parallel": "dimension semantics parallel",
    "megacore": "core parallel",
    "transpose": "transpose swapaxes",
    "debug": "debug print interpret",
}


def search(path: Path, query: str, limit: int) -> tuple[tuple[ApiEntry, ...], tuple[GuidePassage, ...], dict[str, str]]:
    """Return API entries, guide passages and the versions of what is indexed.

    Args:
        path: the index file.
        query: a name (``pl.BlockSpec``), part of one, a misspelt one, or words.
        limit: entries at most; passages are half as many, at least two.

    Raises:
        OSError: the index cannot be read.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            versions = dict(database.execute("SELECT name, value FROM facts"))
            return _entries(database, query, limit), _passages(database, query, max(2, limit // 2)), versions
    except sqlite3.Error as error:
        raise OSError(f"the documentation index cannot be read: {error}") from error


def _entries(database: sqlite3.Connection, query: str, limit: int) -> tuple[ApiEntry, ...]:
    found: dict[int, Match] = {}
    names = [_Name(*row) for row in database.execute("SELECT id, name, qualified, short FROM entries")]
    identifiers = _identifiers(query)
    for identifier in identifiers:
        for number in _exact(names, identifier):
            found.setdefault(number, "exact")
    exact = set(found)
    for identifier in identifiers:
        if not any(name.answers(identifier) for name in names if name.id in exact):
            for number in _fuzzy(names, identifier):
                found.setdefault(number, "fuzzy")
    for number in _concept(database, query, limit * 3):
        found.setdefault(number, "concept")
    return tuple(_entry(database, number, match) for number, match in list(found.items())[:limit])


class _Name:
    """One indexed name, ready for comparison."""

    def __init__(self, number: int, name: str, qualified: str, short: str) -> None:
        self.id = number
        self.name = name.lower()
        self.qualified = qualified.lower()
        self.short = short
        self.rank = next((rank for prefix, rank in _RANKS if self.name.startswith(prefix)), 4)

    def answers(self, identifier: str) -> bool:
        wanted = identifier.lower()
        if "." not in wanted:
            return self.short == wanted
        return wanted in (self.name, self.qualified) or self.qualified.endswith(f".{wanted}")


def _identifiers(query: str) -> list[str]:
    """Return what in ``query`` is written like a name: the whole of it, or words with a dot, underscore or capital."""
    cleaned = re.sub(r"\(.*?\)", "", query.replace("`", " ")).strip(" .?!,;:'\"")
    words = re.findall(r"[A-Za-z_][\w.]*\w", cleaned)
    if len(words) <= 1:
        return words
    return [word for word in words if re.search(r"[._]|[a-z][A-Z]", word)][:_MAX_QUERY_WORDS]


def _exact(names: list[_Name], identifier: str) -> list[int]:
    hits = [name for name in names if name.answers(identifier)]
    return [name.id for name in sorted(hits, key=lambda name: (name.rank, name.name.count("."), name.name))]


def _fuzzy(names: list[_Name], identifier: str) -> list[int]:
    short = identifier.lower().rsplit(".", 1)[-1]
    scope = identifier.lower().rpartition(".")[0]
    inside = [name for name in names if len(short) >= 4 and short in name.short]
    close = difflib.get_close_matches(short, {name.short for name in names}, n=6, cutoff=_FUZZY_CUTOFF)
    alike = [name for name in names if name.short in close]

    def order(name: _Name) -> tuple[bool, float, int]:
        likeness = difflib.SequenceMatcher(None, short, name.short).ratio()
        return bool(scope) and not name.name.startswith(scope), -round(likeness, 2), name.rank

    return [name.id for name in sorted({name.id: name for name in (*inside, *alike)}.values(), key=order)[:6]]


def _concept(database: sqlite3.Connection, query: str, limit: int) -> list[int]:
    words = _match(query)
    if not words:
        return []
    sql = (
        "SELECT e.id, bm25(entry_words, 6.0, 1.0) AS score, e.name "
        "FROM entry_words JOIN entries e ON e.id = entry_words.rowid "
        "WHERE entry_words MATCH ? ORDER BY score LIMIT ?"
    )
    rows = list(database.execute(sql, (words, limit * 6)))

    def order(row: tuple[int, float, str]) -> float:
        rank = next((rank for prefix, rank in _RANKS if row[2].startswith(prefix)), 4)
        return row[1] * (1.6 if rank <= 1 else 1.0)  # scores are negative, the best lowest

    return [row[0] for row in sorted(rows, key=order)[:limit]]


def _passages(database: sqlite3.Connection, query: str, limit: int) -> tuple[GuidePassage, ...]:
    words = _match(query)
    if not words:
        return ()
    sql = (
        "SELECT s.topic, s.title, s.uri, s.text FROM section_words JOIN sections s ON s.id = section_words.rowid "
        "WHERE section_words MATCH ? ORDER BY bm25(section_words, 4.0, 1.0) LIMIT ?"
    )
    rows = database.execute(sql, (words, limit))
    return tuple(
        GuidePassage(topic=topic, title=title, uri=uri, text=_shortened(text, _PASSAGE_CHARS))
        for topic, title, uri, text in rows
    )


def _match(query: str) -> str:
    """Return ``query`` as an FTS expression: each word quoted, so that nothing in it is syntax."""
    spoken = re.findall(r"\w+", f"{query} {split_name(query)}".lower())[: _MAX_QUERY_WORDS * 2]
    words = [word for word in dict.fromkeys(spoken) if word not in _STOP and len(word) > 1]
    more = [extra for word in words for extra in _SAID.get(word, "").split()]
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(_unstopped(words, spoken) + more))


def _unstopped(words: list[str], spoken: list[str]) -> list[str]:
    """Return ``words``, or everything that was said where nothing but common words was."""
    return words or [word for word in spoken if word in {"pallas", "jax", "tpu", "kernel"}]


def _entry(database: sqlite3.Connection, number: int, match: Match) -> ApiEntry:
    sql = "SELECT name, qualified, kind, signature, doc, defined_in FROM entries WHERE id = ?"
    name, qualified, kind, signature, doc, defined_in = database.execute(sql, (number,)).fetchone()
    return ApiEntry(
        name=name,
        qualified=qualified,
        kind=kind,
        signature=_shortened(signature, _SIGNATURE_CHARS),
        doc=_shortened(doc, _DOC_CHARS[match]),
        defined_in=defined_in,
        match=match,
    )


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit].rstrip()}… [{len(text) - limit} more characters]"
