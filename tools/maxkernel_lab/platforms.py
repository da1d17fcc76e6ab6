"""Whether this machine can be a lab, told without importing jax: installed distributions and the platform's name."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ELSEWHERE: Final = (
    "A lab needs Linux on x86-64, the only platform libtpu has wheels for: there, run "
    "`pip install 'maxkernel-mcp[lab]'`. From another machine, use one in a container (linux/amd64) or over ssh, by "
    "starting `maxkernel serve` there."
)
_DISTRIBUTIONS: Final = ("maxkernel-mcp", "mcp", "jax", "jaxlib", "libtpu", "numpy")


@dataclass(frozen=True)
class Compiler:
    """The TPU compiler of this interpreter.

    Attributes:
        available: jax and libtpu are both installed.
        reason: why it is not available and where a lab can run; empty where it is.
    """

    available: bool
    reason: str = ""


def versions() -> Mapping[str, str]:
    """Return versions of Python and of what is installed of the packages that matter."""
    found = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        version = _version(name)
        if version is not None:
            found[name] = version
    return found


def find_compiler() -> Compiler:
    """Tell whether kernels can be compiled here."""
    missing = [name for name in ("jax", "jaxlib", "libtpu") if _version(name) is None]
    if not missing:
        return Compiler(available=True)
    here = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    fits = sys.platform == "linux" and platform.machine() == "x86_64"
    cure = "Run `pip install 'maxkernel-mcp[lab]'` in this environment." if fits else ELSEWHERE
    return Compiler(
        available=False, reason=f"No TPU compiler here ({here}): {', '.join(missing)} not installed. {cure}"
    )


def tpu_devices() -> tuple[str, ...]:
    """Return the device files of TPUs on this machine (``/dev/accel*`` up to v5e, ``/dev/vfio/*`` from v5p on)."""
    found = sorted(str(path) for path in Path("/dev").glob("accel[0-9]*"))
    return tuple(found or sorted(str(path) for path in Path("/dev/vfio").glob("[0-9]*")))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
