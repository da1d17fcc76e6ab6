"""A system call filter: no new processes, no sockets, no memory outside the limits, no tools of escape.

Everything else is allowed: the filter closes what the other walls leave open. Process count limits do not bind root,
and the memory of a ``memfd`` counts neither as data segment nor as resident.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from typing import Final

from maxkernel_tools.worker.walls import kernel

_AUDIT_ARCH_X86_64: Final = 0xC000_003E
_X32_BIT: Final = 0x4000_0000
_CLONE, _CLONE3, _CLONE_THREAD = 56, 435, 0x0001_0000

# Numbers of arch/x86/entry/syscalls/syscall_64.tbl.
_DENIED: Final[dict[str, int]] = {
    "fork": 57,
    "vfork": 58,
    "execve": 59,
    "execveat": 322,
    "kill": 62,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "pidfd_send_signal": 424,
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "pidfd_getfd": 438,
    "kcmp": 312,
    "socket": 41,
    "io_uring_setup": 425,
    "memfd_create": 319,
    "memfd_secret": 447,
    "shmget": 29,
    "shmat": 30,
    "msgget": 68,
    "semget": 64,
    "mq_open": 240,
    "userfaultfd": 323,
    "bpf": 321,
    "perf_event_open": 298,
    "keyctl": 250,
    "add_key": 248,
    "request_key": 249,
    "mount": 165,
    "umount2": 166,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsmount": 432,
    "pivot_root": 155,
    "chroot": 161,
    "setns": 308,
    "unshare": 272,
    "kexec_load": 246,
    "kexec_file_load": 320,
    "init_module": 175,
    "finit_module": 313,
    "delete_module": 176,
    "reboot": 169,
    "swapon": 167,
    "swapoff": 168,
}

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_NUMBER_AT, _ARCH_AT, _ARGUMENT0_AT = 0, 4, 16


def available() -> bool:
    """Whether the filter is written for this machine."""
    return platform.machine() == "x86_64"


def install() -> None:
    """Put the filter around this process and every thread it starts from now on.

    Raises:
        OSError: the kernel has no seccomp filters.
    """
    program = _program()
    code = ctypes.create_string_buffer(program)
    holder = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.create_string_buffer(holder))


def _program() -> bytes:
    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("<HBBI", code, if_true, if_false, value)

    refuse = step(_RETURN, _ERRNO | errno.EPERM)
    parts = [
        step(_LOAD, _ARCH_AT),
        step(_JUMP_EQUAL, _AUDIT_ARCH_X86_64, 1, 0),
        step(_RETURN, _KILL_PROCESS),
        step(_LOAD, _NUMBER_AT),
        step(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        refuse,
        # glibc asks clone3 first and takes clone, whose flags can be read here, when there is none.
        step(_JUMP_EQUAL, _CLONE3, 0, 1),
        step(_RETURN, _ERRNO | errno.ENOSYS),
        step(_JUMP_EQUAL, _CLONE, 0, 4),
        step(_LOAD, _ARGUMENT0_AT),
        step(_JUMP_ANY_BIT, _CLONE_THREAD, 1, 0),
        refuse,
        step(_RETURN, _ALLOW),
    ]
    for number in sorted(_DENIED.values()):
        parts += [step(_JUMP_EQUAL, number, 0, 1), refuse]
    return b"".join([*parts, step(_RETURN, _ALLOW)])
