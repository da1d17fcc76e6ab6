"""Artifacts: files by content, and the sink one run's tools write them through."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from maxkernel_tools.errors import MachineryError
from maxkernel_tools.records.results import Artifact

if TYPE_CHECKING:
    from maxkernel_lab.store.runs import RunStore

URI_PREFIX: Final = "maxkernel://runs/"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_CHUNK: Final = 1 << 20


class ArtifactFolder:
    """Files named by the SHA-256 of their content. A file, once there, is whole and never changes."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, sha256: str) -> Path:
        """Where the content with this hash lies."""
        return self._root / sha256[:2] / sha256

    def add(self, data: bytes | Path) -> tuple[str, int]:
        """Keep ``data`` (bytes, or a file to copy) and return its hash and size.

        Raises:
            MachineryError: it cannot be written.
        """
        temporary = self._root / f".incoming-{os.getpid()}-{secrets.token_hex(6)}"
        digest, size = hashlib.sha256(), 0
        try:
            with temporary.open("wb") as stream:
                for chunk in _chunks(data):
                    digest.update(chunk)
                    size += len(chunk)
                    stream.write(chunk)
                stream.flush()
                os.fsync(stream.fileno())
            final = self.path(digest.hexdigest())
            final.parent.mkdir(exist_ok=True, mode=0o700)
            temporary.replace(final)
        except OSError as error:
            raise MachineryError(f"Cannot keep an artifact under {self._root}: {error}.") from error
        finally:
            temporary.unlink(missing_ok=True)
        return digest.hexdigest(), size


class RunArtifacts:
    """The ``ArtifactSink`` of one run."""

    def __init__(self, store: RunStore, run_id: str) -> None:
        self._store = store
        self.run_id = run_id
        self.kept: list[Artifact] = []

    async def put(self, name: str, kind: str, data: bytes | str | Path) -> Artifact:
        """Store ``data`` under the run as ``name``; a second artifact of the same name replaces the first."""
        content = bytes(data, "utf-8") if isinstance(data, str) else data
        artifact = await anyio.to_thread.run_sync(self._store.put_artifact, self.run_id, name, kind, content)
        self.kept = [*(kept for kept in self.kept if kept.uri != artifact.uri), artifact]
        return artifact


def artifact_name(name: str) -> str:
    """Return ``name`` in the letters a URI path segment may hold unescaped."""
    return _UNSAFE.sub("_", name).strip("._")[:120] or "artifact"


def artifact_uri(run_id: str, name: str) -> str:
    """Return the resource URI of an artifact."""
    return f"{URI_PREFIX}{run_id}/{name}"


def _chunks(data: bytes | Path) -> list[bytes] | _FileChunks:
    return [data] if isinstance(data, bytes) else _FileChunks(data)


class _FileChunks:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self):
        with self._path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
