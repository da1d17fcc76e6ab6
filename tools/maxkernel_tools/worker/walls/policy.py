"""What one job may do, and the act of entering the walls for good."""

from __future__ import annotations

import importlib.util
import os
import resource
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from maxkernel_tools.records.verdicts import SandboxReport
from maxkernel_tools.worker.walls import kernel, landlock, seccomp

# What kernels may import, one by one: permitting all of site-packages would expose the references of installed tasks.
PACKAGES: Final = ("jax", "jaxlib", "numpy", "ml_dtypes", "scipy", "opt_einsum", "flatbuffers", "typing_extensions")
_SYSTEM: Final = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self",
    "/sys/devices/system",
)
_OPEN_FILES: Final = 256


@dataclass(frozen=True)
class Policy:
    """The walls of one job.

    Attributes:
        directory: the one folder it may write to.
        roots: folders of the user's project it may import from; what is hidden in them (``.env``, ``.git``) stays so.
        memory_bytes: data segment; the supervisor watches what is resident.
        cpu_s: processor time over all threads.
        file_bytes: largest file.
        without: walls to leave out, by name.
    """

    directory: Path
    roots: tuple[Path, ...] = ()
    memory_bytes: int = 4 << 30
    cpu_s: int = 600
    file_bytes: int = 64 << 20
    without: frozenset[str] = frozenset()


def readable_paths() -> tuple[Path, ...]:
    """Return what any kernel needs to read: the standard library by entry, jax and its packages, a few devices."""
    found = [Path(name) for name in _SYSTEM]
    for kind in ("stdlib", "platstdlib"):
        library = Path(sysconfig.get_path(kind))
        found += [entry for entry in library.iterdir() if entry.name not in ("site-packages", "dist-packages")]
    found += [Path(entry) for entry in sys.path if entry.endswith("lib-dynload")]
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        if spec.submodule_search_locations:
            found += [Path(location) for location in spec.submodule_search_locations]
            found.append(origin.parent.with_name(f"{name}.libs"))
        else:
            found.append(origin)
    return tuple(dict.fromkeys(path for path in found if path.exists()))


def enter(policy: Policy, readable: Sequence[Path], *, pid_namespace: bool, network_namespace: bool) -> SandboxReport:
    """Enter the walls; there is no way back out. The process must have one thread.

    Args:
        policy: what this job may do.
        readable: what :func:`readable_paths` found, computed once by the parent.
        pid_namespace: the caller forked this process into a PID namespace of its own.
        network_namespace: the caller left the host's network.
    """
    notes: list[str] = []
    _limits(policy)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    walls = _landlock(policy, readable, notes)
    try:
        kernel.drop_capabilities()
    except OSError as error:
        notes.append(f"Capabilities kept: {error}.")
    filtered = _filter(policy, notes)
    if not pid_namespace and not filtered:
        notes.append("No PID namespace and no system call filter: stray processes are swept up, not prevented.")
    return SandboxReport(
        landlock=walls is not None,
        rlimits=True,
        no_network=filtered or network_namespace or (walls is not None and walls.tcp_blocked),
        pid_namespace=pid_namespace,
        seccomp=filtered,
        memory_watchdog=True,
        notes=tuple(notes),
    )


def _shown(roots: Sequence[Path]) -> list[Path]:
    return [entry for root in roots if root.is_dir() for entry in root.iterdir() if not entry.name.startswith(".")]


def _landlock(policy: Policy, readable: Sequence[Path], notes: list[str]) -> landlock.Walls | None:
    walls = None
    try:
        if "landlock" not in policy.without:
            walls = landlock.restrict([*readable, *_shown(policy.roots)], [policy.directory], policy.roots)
    except OSError as error:
        notes.append(f"Landlock refused: {error}.")
    if walls is None:
        notes.append("No Landlock: files are not walled off.")
    return walls


def _filter(policy: Policy, notes: list[str]) -> bool:
    if "seccomp" in policy.without:
        notes.append("The system call filter was left out.")
        return False
    if not seccomp.available():
        notes.append("The system call filter is written for x86-64 only.")
        return False
    try:
        seccomp.install()
    except OSError as error:
        notes.append(f"No system call filter: {error}.")
        return False
    return True


def _limits(policy: Policy) -> None:
    for name, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, policy.cpu_s),
        (resource.RLIMIT_DATA, policy.memory_bytes),
        (resource.RLIMIT_FSIZE, policy.file_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        _, hard = resource.getrlimit(name)
        bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (bounded, bounded))
    os.umask(0o077)
