"""What worker processes are started with: interpreter, program, environment.

Nothing of the user's own environment goes along.
"""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path

import maxkernel_tools
from maxkernel_tools.errors import MisuseError, UnavailableError

_NEEDED = ("jax", "jaxlib", "libtpu", "flatbuffers")


@dataclass(frozen=True)
class Toolchain:
    """An interpreter with jax and libtpu.

    Attributes:
        name: ``default`` is the lab's own interpreter.
        python: its executable.
        versions: of python, jax, jaxlib and libtpu.
        packages: folder with what the worker needs and this interpreter does not have.
        lacks: what this line of jax cannot do for a kernel, in words.
    """

    name: str
    python: Path
    versions: dict[str, str] = field(default_factory=dict[str, str])
    packages: Path | None = None
    lacks: tuple[str, ...] = ()


def default_toolchain() -> Toolchain:
    """Describe the lab's own interpreter, without importing jax."""
    versions = {"python": platform.python_version()}
    for name in _NEEDED:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return Toolchain(name="default", python=Path(sys.executable), versions=versions)


def require(toolchain: Toolchain) -> None:
    """Raise where ``toolchain`` cannot compile for TPU.

    Raises:
        UnavailableError: with the packages that are missing and where a lab can run.
    """
    missing = [name for name in _NEEDED if name not in toolchain.versions]
    if not missing:
        return
    here = f"{platform.system()} {platform.machine()}"
    advice = (
        "Install it here with: pip install 'maxkernel-mcp[lab]'."
        if (platform.system(), platform.machine()) == ("Linux", "x86_64")
        else "The TPU compiler has wheels for Linux x86-64 only: run the lab in a linux/amd64 container or such a host."
    )
    raise UnavailableError(f"No TPU compiler on this machine ({here}): {', '.join(missing)} not installed. {advice}")


def choose(toolchains: dict[str, Toolchain], name: str) -> Toolchain:
    """Return the toolchain called ``name``.

    Raises:
        MisuseError: there is none.
    """
    if name not in toolchains:
        raise MisuseError(
            f"No toolchain is called {name!r}.",
            allowed=", ".join(sorted(toolchains)) + ".",
            action="List or add toolchains with `maxkernel toolchain`.",
        )
    return toolchains[name]


def command(toolchain: Toolchain, service: str, *arguments: str) -> list[str]:
    """Return the command line of a worker service: isolated, by path."""
    bootstrap = Path(maxkernel_tools.__file__).parent / "worker" / "bootstrap.py"
    packages = [] if toolchain.packages is None else [f"--packages={toolchain.packages}"]
    return [str(toolchain.python), "-I", "-X", "utf8", str(bootstrap), *packages, service, *arguments]


def environment(folder: Path, libtpu_arguments: str = "") -> dict[str, str]:
    """Return the whole environment of a worker process.

    Args:
        folder: its own folder, given as home and for temporary files.
        libtpu_arguments: flags libtpu reads once, when it is loaded.
    """
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "JAX_PLATFORMS": "cpu",
        "JAX_TRACEBACK_FILTERING": "off",
        "TPU_SKIP_MDS_QUERY": "1",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TPU_MIN_LOG_LEVEL": "3",
        "TPU_STDERR_LOG_LEVEL": "3",
        "TPU_LOG_DIR": "disabled",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
        # A thread pool of numpy's would be lost in a fork and warn about it.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "4",
        "LIBTPU_INIT_ARGS": libtpu_arguments,
    }
