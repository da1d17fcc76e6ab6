"""File locks that the operating system releases when their owner dies, and atomic file writes."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from pathlib import Path
from typing import Final

_TRIES: Final = 5
_PAUSE_S: Final = 0.01


def try_lock(path: Path) -> int | None:
    """Return a descriptor that holds an exclusive lock on ``path`` until it is closed, or None if somebody has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for attempt in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Somebody asking is_locked() holds it for microseconds: that is not an owner.
            if attempt + 1 < _TRIES:
                time.sleep(_PAUSE_S)
        else:
            return descriptor
    os.close(descriptor)
    return None


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock on ``path``; a missing file is not locked."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def lock_owner(path: Path) -> int | None:
    """Return the process that holds the lock on ``path``, by the kernel's own table; None where none does.

    Source: proc_locks(5); a line reads ``1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF``.
    """
    try:
        inode = path.stat().st_ino
        table = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return None
    for line in table.splitlines():
        parts = line.split()
        if (
            len(parts) >= 6
            and parts[1] == "FLOCK"
            and parts[3] == "WRITE"
            and parts[5].rsplit(":", 1)[-1] == str(inode)
        ):
            pid = int(parts[4])
            return pid if pid > 0 else None
    return None


def write_atomically(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` so that a reader, or a crash, sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
