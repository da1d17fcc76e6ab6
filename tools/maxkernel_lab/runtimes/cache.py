"""The compile cache: what the compiler said, by content of the question.

An entry is a folder that appears whole by one rename and is checked when it is read: a bad one is removed and compiled
anew. Several labs share it. The least recently used entries go when it outgrows its budget.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from maxkernel_tools.runtime import ChildReport, CompileReply, CompileRequest
from maxkernel_tools.wire import Message, WireError
from maxkernel_tools.wire.replies import decode_compile_reply, encode_compile_reply

_FORMAT: Final = 1
_MANIFEST: Final = "manifest.json"
_REPLY: Final = "reply.json"
_HLO: Final = "optimized-hlo.txt.gz"
_DUMPS: Final = "dumps"
_IN_USE_S: Final = 600.0
"""An entry used this recently is not evicted: somebody may be reading its dumps."""


def cache_key(request: CompileRequest, versions: Mapping[str, str]) -> str:
    """Return the hash of everything that bears on the compiler's answer."""
    question = {
        "format": _FORMAT,
        "exported": hashlib.sha256(request.exported).hexdigest(),
        "options": dict(sorted(request.options.items())),
        "target": str(request.target),
        "dumps": request.dumps,
        **({"passes": True} if request.passes else {}),
        "versions": {name: versions.get(name) for name in ("jax", "jaxlib", "libtpu")},
    }
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class _Entry:
    path: Path
    bytes: int
    used: float


class CompileCache:
    """A folder of compile answers.

    Args:
        root: where it lies.
        budget_bytes: size it is trimmed to.
    """

    def __init__(self, root: Path, budget_bytes: int = 4 << 30) -> None:
        self._root = root
        self._budget = budget_bytes
        self._staging = root / "staging"
        self._entries = root / "entries"
        for folder in (self._staging, self._entries):
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> CompileReply | None:
        """Return the answer kept under ``key``; None where there is none, or none that is whole."""
        entry = self._path(key)
        try:
            reply = self._read(entry)
            os.utime(entry / _MANIFEST)
        except FileNotFoundError:
            if entry.exists():
                self._discard(entry)
            return None
        except (OSError, ValueError, KeyError, TypeError, EOFError, WireError):
            self._discard(entry)
            return None
        return reply

    def put(self, key: str, reply: CompileReply, dumps: Path | None) -> CompileReply:
        """Keep ``reply`` and the dump files in ``dumps``, which are moved; return it with its dump folder.

        Raises:
            OSError: the disk does not take it; nothing half-written stays.
        """
        staged = self._staging / secrets.token_hex(8)
        staged.mkdir()
        try:
            message = encode_compile_reply(reply, "")
            (staged / _REPLY).write_text(json.dumps(dict(message.body)))
            with gzip.GzipFile(staged / _HLO, "wb", compresslevel=1, mtime=0) as file:
                file.write(reply.hlo_text.encode("utf-8", "replace"))
            if dumps is not None:
                shutil.move(dumps, staged / _DUMPS)
            manifest = {"format": _FORMAT, "files": {name: _digest(path) for name, path in _files(staged)}}
            (staged / _MANIFEST).write_text(json.dumps(manifest))
            self._publish(staged, self._path(key))
        finally:
            shutil.rmtree(staged, ignore_errors=True)
        return replace(reply, dump_dir=self._dumps(self._path(key)))

    def trim(self) -> int:
        """Remove the least recently used entries beyond the budget; return the bytes kept."""
        entries = sorted(self._scan(), key=lambda entry: entry.used)
        total = sum(entry.bytes for entry in entries)
        if total > self._budget:
            for entry in entries:
                if total <= self._budget * 0.8 or time.time() - entry.used < _IN_USE_S:
                    break
                self._discard(entry.path)
                total -= entry.bytes
        for left in self._staging.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > _IN_USE_S:
                    shutil.rmtree(left, ignore_errors=True)
        return total

    def _path(self, key: str) -> Path:
        return self._entries / key[:2] / key

    def _dumps(self, entry: Path) -> Path | None:
        return entry / _DUMPS if (entry / _DUMPS).is_dir() else None

    def _read(self, entry: Path) -> CompileReply:
        manifest = cast("dict[str, Any]", json.loads((entry / _MANIFEST).read_text()))
        expected = cast("dict[str, str]", manifest["files"])
        found = {name: _digest(path) for name, path in _files(entry) if name != _MANIFEST}
        if manifest["format"] != _FORMAT or found != expected:
            raise ValueError("entry is damaged")
        with gzip.open(entry / _HLO) as file:
            text = file.read()
        body: dict[str, Any] = {**json.loads((entry / _REPLY).read_text()), "hlo_text": 0}
        message = Message(kind="compile", nonce="", body=body, blobs=[text])
        child = ChildReport(ending="completed")
        return replace(decode_compile_reply(message, child, self._dumps(entry)), cached=True)

    def _publish(self, staged: Path, entry: Path) -> None:
        entry.parent.mkdir(exist_ok=True)
        try:
            staged.rename(entry)
        except OSError:
            # Another lab was first with the same answer, or a damaged entry is in the way.
            if self.get(entry.name) is None:
                self._discard(entry)
                staged.rename(entry)

    def _discard(self, entry: Path) -> None:
        """Remove an entry at once for every reader, then its files."""
        trash = self._staging / secrets.token_hex(8)
        with contextlib.suppress(OSError):
            entry.rename(trash)
            shutil.rmtree(trash, ignore_errors=True)

    def _scan(self) -> Iterator[_Entry]:
        for path in self._entries.glob("*/*"):
            try:
                used = (path / _MANIFEST).stat().st_mtime
            except OSError:
                used = 0.0
            with contextlib.suppress(OSError):
                yield _Entry(path=path, bytes=sum(file.stat().st_size for _, file in _files(path)), used=used)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)), path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
