"""What is recorded of a toolchain, and where: ``toolchains/NAME/toolchain.json`` under the lab's home."""

from __future__ import annotations

import re
import secrets
import shutil
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from maxkernel_lab.runtimes.environment import Toolchain, default_toolchain
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record

DEFAULT: Final = "default"
_RECORD: Final = "toolchain.json"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._+-]{0,63}")


class Stored(Record):
    """A toolchain as it is recorded.

    Attributes:
        specs: what was asked for: requirements, or the path of an environment that existed.
        python: its interpreter. ``packages``: folder with what that interpreter lacks for the worker, or empty.
        versions: of python, jax, jaxlib, libtpu.
        lacks: what this line of jax cannot do for a kernel, in words.
    """

    name: str
    specs: tuple[str, ...]
    python: str
    packages: str = ""
    versions: dict[str, str]
    lacks: tuple[str, ...] = ()

    def toolchain(self) -> Toolchain:
        """Return it as the runtime takes it."""
        return Toolchain(
            name=self.name,
            python=Path(self.python),
            versions=dict(self.versions),
            packages=Path(self.packages) if self.packages else None,
            lacks=self.lacks,
        )


def toolchains_folder(home: Path) -> Path:
    """Where the toolchains of a lab lie."""
    return home / "toolchains"


def check_name(name: str) -> str:
    """Return ``name``, which becomes a folder's.

    Raises:
        MisuseError: it cannot be one, or means the lab's own interpreter.
    """
    if not _NAME.fullmatch(name) or name == DEFAULT:
        raise MisuseError(
            f"{name!r:.80} cannot be the name of a toolchain.",
            allowed=f"up to 64 of a-z 0-9 . _ + -, other than {DEFAULT!r}, which is the lab's own environment.",
            action="Give another with --name.",
        )
    return name


def load_toolchain(home: Path, name: str) -> Toolchain | None:
    """Return the recorded toolchain ``name``; None where there is none, or its record cannot be read."""
    found = _read(toolchains_folder(home) / name) if _NAME.fullmatch(name) else None
    return None if found is None else found.toolchain()


def list_toolchains(home: Path) -> tuple[Stored, ...]:
    """Return every toolchain that was added, by name."""
    folder = toolchains_folder(home)
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    return tuple(found for entry in entries if (found := _read(entry)) is not None)


def installed() -> Stored:
    """Describe the lab's own environment the same way."""
    own = default_toolchain()
    return Stored(name=DEFAULT, specs=(), python=str(own.python), versions=own.versions)


def recorded_toolchains(home: Path) -> dict[str, Toolchain]:
    """Return every toolchain that was added, as the runtime takes it."""
    return {found.name: found.toolchain() for found in list_toolchains(home)}


def keep_toolchain(folder: Path, found: Stored) -> None:
    """Write the record into ``folder``, whole or not at all; from then on the toolchain exists."""
    staged = folder / f".{_RECORD}.{secrets.token_hex(4)}"
    staged.write_text(found.model_dump_json(indent=1))
    staged.replace(folder / _RECORD)


def remove_toolchain(home: Path, name: str) -> Stored:
    """Remove a toolchain with the environment that was made for it; one that existed before stays as it is.

    Raises:
        MisuseError: there is none of this name.
    """
    folder = toolchains_folder(home) / check_name(name)
    found = _read(folder)
    if found is None:
        known = ", ".join(each.name for each in list_toolchains(home)) or "none"
        raise MisuseError(
            f"No toolchain is called {name!r}.", allowed=f"{known}.", action="See `maxkernel toolchain list`."
        )
    discard(folder)
    return found


def discard(folder: Path) -> None:
    """Remove ``folder`` at once for every reader, then its files."""
    trash = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        folder.replace(trash)
    except FileNotFoundError:
        return
    shutil.rmtree(trash, ignore_errors=True)


def _read(folder: Path) -> Stored | None:
    try:
        found = Stored.model_validate_json((folder / _RECORD).read_bytes())
    except (OSError, ValidationError):
        return None
    return found if found.name == folder.name else None
