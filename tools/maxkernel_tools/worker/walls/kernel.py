"""System calls the standard library of Python 3.11 does not wrap."""

from __future__ import annotations

import ctypes
import os
from typing import Final

_LIBC: Final = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG: Final = 1
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38

CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWUSER: Final = 0x1000_0000
CLONE_NEWPID: Final = 0x2000_0000
CLONE_NEWNET: Final = 0x4000_0000


def _checked(result: int, name: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def syscall(name: str, number: int, *arguments: object) -> int:
    """Make system call ``number``; integers are passed as 64 bits.

    Raises:
        OSError: it failed.
    """
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_LIBC.syscall(ctypes.c_long(number), *wide), name)


def prctl(option: int, value: int, pointer: object = 0) -> None:
    """Set a process attribute.

    Raises:
        OSError: the kernel refuses.
    """
    last = ctypes.c_ulong(pointer) if isinstance(pointer, int) else pointer
    _checked(_LIBC.prctl(option, ctypes.c_ulong(value), last, 0, 0), f"prctl {option}")


def unshare(flags: int) -> None:
    """Leave the namespaces ``flags`` names.

    Raises:
        OSError: not permitted here.
    """
    _checked(_LIBC.unshare(flags), "unshare")


def setns(descriptor: int, flags: int) -> None:
    """Enter the namespace behind ``descriptor``.

    Raises:
        OSError: not permitted here.
    """
    _checked(_LIBC.setns(descriptor, flags), "setns")


def drop_capabilities() -> None:
    """Give up every capability, also for programs started later.

    Raises:
        OSError: the kernel refuses.
    """
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # past the last capability this kernel knows, or no right to drop: capset below is what counts
            break
    header = (ctypes.c_uint32 * 2)(0x2008_0522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    _checked(_LIBC.capset(header, (ctypes.c_uint32 * 6)()), "capset")
