"""Landlock: which files a process may read and write, and whether it may use TCP.

Source of the numbers: include/uapi/linux/landlock.h. Works without privileges; each kernel knows an ABI version.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from maxkernel_tools.worker.walls import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST_ABI: Final = (1 << 13) - 1
_ON_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_READ: Final = _READ_FILE | _READ_DIR
_WRITE: Final = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
_TCP: Final = 0b11  # bind and connect
_SCOPES: Final = 0b11  # abstract unix sockets and signals


@dataclass(frozen=True)
class Walls:
    """What Landlock holds in this process."""

    abi: int
    tcp_blocked: bool
    signals_scoped: bool


def abi_version() -> int:
    """Return the kernel's Landlock ABI, 0 where there is none."""
    try:
        return kernel.syscall("landlock_create_ruleset", _CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def restrict(
    readable: Iterable[Path], writable: Iterable[Path], listable: Iterable[Path] = (), *, block_tcp: bool = True
) -> Walls | None:
    """Allow this process the given files and folders and nothing else; None where the kernel has no Landlock.

    Folders of ``listable`` give away names, not contents. Paths that do not exist are skipped. Must be called while the
    process has one thread, after ``PR_SET_NO_NEW_PRIVS``.

    Raises:
        OSError: Landlock is there and refuses.
    """
    abi = abi_version()
    if abi < 1:
        return None
    handled = (
        _FIRST_ABI | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0) | (_IOCTL_DEV if abi >= 5 else 0)
    )
    tcp = _TCP if abi >= 4 and block_tcp else 0
    scopes = _SCOPES if abi >= 6 else 0
    fields = [handled] + ([tcp] if abi >= 4 else []) + ([scopes] if abi >= 6 else [])
    attributes = struct.pack(f"<{len(fields)}Q", *fields)
    ruleset = kernel.syscall("landlock_create_ruleset", _CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ & handled)
        for path in writable:
            _allow(ruleset, path, _WRITE & handled)
        for path in listable:
            _allow(ruleset, path, _READ_DIR)
        kernel.syscall("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return Walls(abi=abi, tcp_blocked=bool(tcp), signals_scoped=bool(scopes))


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112 - called some hundred times a job; os.path is half the cost
            access &= _ON_FILES
        rule = ctypes.create_string_buffer(struct.pack("<Qi", access, descriptor))
        kernel.syscall("landlock_add_rule", _ADD_RULE, ruleset, 1, rule, 0)
    finally:
        os.close(descriptor)
