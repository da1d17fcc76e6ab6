"""Read the files a caller names, and no others: allowed roots, symlinks and ``..`` resolved before the check."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from maxkernel_lab.settings import Settings
from maxkernel_tools.errors import MisuseError


def resolve_inside(text: str, settings: Settings, *, what: str) -> Path:
    """Return the absolute, symlink-free path for ``text`` (relative to the workspace).

    Raises:
        MisuseError: it leads outside the allowed roots. Whether it exists there is not told.
    """
    if "\x00" in text:
        raise MisuseError(f"The {what} holds a NUL character.", allowed="a path.", action="Correct it.")
    path = Path(text)
    # os.path.realpath follows every link that exists and tolerates the rest, so that missing files are judged too.
    resolved = Path(os.path.realpath(path if path.is_absolute() else settings.workspace / path))
    roots = [root.resolve() for root in settings.roots]
    if not any(resolved.is_relative_to(root) for root in roots):
        raise MisuseError(
            f"The {what} {text!r} lies outside the allowed folders.",
            allowed="paths inside " + ", ".join(str(root) for root in roots) + " (after following links).",
            action="Move the file there, pass its text instead, or add its folder to roots in maxkernel.toml.",
        )
    return resolved


def read_text_file(text: str, settings: Settings, *, what: str, max_bytes: int) -> tuple[str, Path]:
    """Return the text of the file a caller named, and its resolved path.

    Raises:
        MisuseError: it is outside the roots, missing, not a regular file, too large, or not UTF-8.
    """
    path = resolve_inside(text, settings, what=what)
    try:
        # The file is opened once and judged by its descriptor; O_NONBLOCK so that a FIFO cannot hang the lab.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise MisuseError(
            f"The {what} {text!r} does not exist ({path}).",
            allowed=f"an existing file; relative paths start at {settings.workspace}.",
            action="Correct the path, or pass the text as source.",
        ) from None
    except OSError as error:
        raise MisuseError(
            f"The {what} {text!r} cannot be opened: {error.strerror}.", allowed="a readable file.", action="Correct it."
        ) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise MisuseError(
                f"The {what} {text!r} is not a regular file.", allowed="a Python file.", action="Name the file itself."
            )
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(max_bytes + 1)
    finally:
        os.close(descriptor)
    if len(data) > max_bytes:
        raise MisuseError(
            f"The {what} {text!r} has {facts.st_size} bytes.",
            allowed=f"at most {max_bytes} bytes.",
            action="Name the kernel's own file; keep data out of it.",
        )
    try:
        return data.decode("utf-8"), path
    except UnicodeDecodeError as error:
        raise MisuseError(
            f"The {what} {text!r} is not UTF-8 text ({error.reason} at byte {error.start}).",
            allowed="UTF-8 text.",
            action="Save it as UTF-8.",
        ) from None


def resolve_folder(text: str, settings: Settings, *, what: str) -> Path:
    """Return the absolute path of an existing folder inside the allowed roots.

    Raises:
        MisuseError: it is outside the roots, or not a folder.
    """
    path = resolve_inside(text, settings, what=what)
    if not is_folder(path):
        raise MisuseError(
            f"The {what} {text!r} is not a folder ({path}).", allowed="an existing folder.", action="Correct the path."
        )
    return path


def is_file(path: Path) -> bool:
    """Whether there is a regular file; a name no file can have, for its length, is no error."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; a name no folder can have, for its length, is no error."""
    try:
        return path.is_dir()
    except OSError:
        return False
