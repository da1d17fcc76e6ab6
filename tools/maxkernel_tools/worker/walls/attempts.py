"""What a kernel tried that is not a kernel's business: noted as it tries, whether or not it hides the refusal.

The walls stop it; this says so. It lives in the candidate's own process and could be silenced there, so it convicts and
never acquits. Only what the kernel's own code does counts, not what jax or an import does on its behalf.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from maxkernel_tools.runtime import CHANGED, Attempt
from maxkernel_tools.worker.walls import unchanged

_NETWORK, _PROCESS = "use the network", "reach another process"
_ACTS: Final = {
    "socket.__new__": _NETWORK,
    "socket.getaddrinfo": _NETWORK,
    "socket.gethostbyname": _NETWORK,
    "os.fork": _PROCESS,
    "os.forkpty": _PROCESS,
    "os.exec": _PROCESS,
    "os.posix_spawn": _PROCESS,
    "os.system": _PROCESS,
    "subprocess.Popen": _PROCESS,
    "os.kill": _PROCESS,
    "os.killpg": _PROCESS,
    "ctypes.dlopen": "call the C library",
    "gc.get_objects": "look through the interpreter's objects",
    "gc.get_referrers": "look through the interpreter's objects",
}
_PATHS: Final = frozenset(
    ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate")
)
_REFERENCES: Final = frozenset(("jaxbench", "reference", "maxkernel_lab", "maxkernel_mcp", "maxkernel_orchestrators"))
_MOST: Final = 20
_IMPORTING: Final = "<frozen importlib"

_seen: list[Attempt] = []


def watch(allowed: Sequence[Path]) -> None:
    """Note from now on what kernel code tries; opening what lies under ``allowed`` is no attempt."""
    standard = sysconfig.get_path("stdlib") + os.sep
    packages = (sysconfig.get_path("purelib") + os.sep, str(Path(__file__).resolve().parents[2]) + os.sep)
    prefixes = tuple(str(path) for path in allowed)
    harmless = {"HOME", "TMPDIR", "COLUMNS", "LINES", *os.environ}

    def note(what: str, event: str) -> None:
        line = _asker(standard, packages, importing=event == "import")
        if line is not None and len(_seen) < _MOST:
            _seen.append(Attempt(what=what, event=event, line=line))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _PATHS:
            path = _path_text(arguments[0] if arguments else None)
            if path is not None and not _inside(path, prefixes):
                note(f"reach {path[:200]}", event)
        elif event in _ACTS:
            note(_ACTS[event], event)
        elif event == "import" and str(arguments[0]).split(".", maxsplit=1)[0] in _REFERENCES:
            note(f"import {str(arguments[0])[:200]}", event)

    environment: Any = os.environ
    encode: Callable[[str], bytes] = environment.encodekey

    def encodekey(name: str) -> bytes:
        if name not in harmless:
            note(f"read the environment's {name!s:.100}", "os.environ")
        return encode(name)

    environment.encodekey = encodekey
    sys.addaudithook(hook)


def seen(*, compare: bool = True) -> tuple[Attempt, ...]:
    """Return what was noted so far, in order, without repeats.

    Args:
        compare: and what of the packages is not what it was; looking at all of them costs a tenth of a second.
    """
    if not compare:
        return tuple(dict.fromkeys(_seen))
    replaced = (Attempt(what=f"change {name}", event=CHANGED) for name in unchanged.changed())
    return (*dict.fromkeys(_seen), *replaced)


def _path_text(path: Any) -> str | None:
    """Return a path as text; None for an open descriptor and for what is no path."""
    if isinstance(path, str | bytes):
        return os.fsdecode(path)
    return str(path) if hasattr(path, "__fspath__") else None


def _inside(path: str, prefixes: tuple[str, ...]) -> bool:
    whole = os.path.abspath(path)  # noqa: PTH100 - called at every file jax opens
    return any(whole == prefix or whole.startswith(prefix.rstrip("/") + "/") for prefix in prefixes)


def _asker(standard: str, packages: tuple[str, ...], *, importing: bool) -> int | None:
    """Line of the kernel's own code that asks, through the standard library or not; None where somebody else does."""
    frame = sys._getframe(3)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_IMPORTING) and not importing:
            return None  # looking for a module is not the kernel's reading
        if name.startswith(packages):
            return None
        if not name.startswith((standard, "<frozen")):
            return frame.f_lineno
        frame = frame.f_back
    return None
