"""What a change would be, and making it: read, change, show, write with a backup, undo. Never half of it."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from maxkernel_mcp.installing import jsonc, tables
from maxkernel_mcp.installing.clients import ENTRY, Client, Surroundings
from maxkernel_tools.errors import MachineryError, MisuseError

BACKUP_SUFFIX: Final = ".before-maxkernel"
_BLANK: Final = "\ufeff \t\r\n"
_FORMS: Final[Mapping[str, ModuleType]] = {"jsonc": jsonc, "toml": tables}


@dataclass(frozen=True)
class Plan:
    """A change of one client's settings.

    Attributes:
        path: the file, with links followed. before: its text, None where there is none. after: what it would be, None
            where it would go.
    """

    client: Client
    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """The change; without lines around it, which may hold other servers' keys."""
        old, new = (text.splitlines() if text else [] for text in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, str(self.path), str(self.path), lineterm="", n=0))


@dataclass(frozen=True)
class Written:
    """What was done; ``backup`` holds the file as it was, where there was one."""

    path: Path
    backup: Path | None


def plan_install(client: Client, surroundings: Surroundings, command: list[str]) -> Plan:
    """Return the change that adds this server, or brings its entry up to date.

    Raises:
        MisuseError: the file is there but cannot be read or is broken.
    """
    path = _path(client, surroundings)
    before = _read(path)
    entry = client.entry(command)
    form = _FORMS[client.form]
    old: dict[str, Any] = _changed(path, lambda: form.parse(before) if before and before.strip(_BLANK) else {})
    after: str = _changed(path, lambda: form.put(before or "", client.section, ENTRY, entry))
    _verify(client, path, old, after, entry)
    return Plan(client, path, before, after)


def plan_undo(client: Client, surroundings: Surroundings) -> Plan:
    """Return the change that takes this server out again.

    Where nothing else changed since, the file becomes what it was; else only our entry goes.

    Raises:
        MisuseError: the file cannot be read or is broken.
    """
    path = _path(client, surroundings)
    before = _read(path)
    if before is None:
        return Plan(client, path, None, None)
    form = _FORMS[client.form]
    after: str | None = _changed(path, lambda: form.take(before, client.section, ENTRY))
    backup = _read(_backup(path))
    if backup is not None and after != before:
        entry = form.parse(before)[client.section][ENTRY]
        with contextlib.suppress(jsonc.BrokenError):
            old: dict[str, Any] = form.parse(backup) if backup.strip(_BLANK) else {}
            ours_was_absent = ENTRY not in old.get(client.section, {})
            if ours_was_absent and form.put(backup, client.section, ENTRY, entry) == before:
                after = backup
    elif after is not None and after != before and form.parse(after) in ({}, {client.section: {}}):
        after = None  # the file was ours alone
    return Plan(client, path, before, after)


def write(plan: Plan) -> Written:
    """Carry ``plan`` out: a backup first, then the file in one step, with the mode it had.

    Raises:
        MachineryError: the file or its folder cannot be written; nothing was changed then.
    """
    path, backup = plan.path, None
    try:
        if plan.before is not None and not os.access(path, os.W_OK):
            raise PermissionError(13, "it is read-only")
        path.parent.mkdir(parents=True, exist_ok=True)
        if plan.before is not None:
            backup = _backup(path)
            _replace(backup, plan.before, path)
        if plan.after is None:
            path.unlink(missing_ok=True)
        else:
            _replace(path, plan.after, path)
    except OSError as error:
        raise MachineryError(f"{path} cannot be written: {error.strerror or error}. Nothing was changed.") from error
    return Written(path, backup)


def _replace(path: Path, text: str, like: Path) -> None:
    """Write ``path`` in one step, readable by whom ``like`` is, or by its owner alone."""
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        draft.chmod(mode)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _path(client: Client, surroundings: Surroundings) -> Path:
    # People keep such files as links into a repository of theirs: the link must stay.
    return Path(os.path.realpath(client.path(surroundings)))


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP_SUFFIX)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(
            f"{path} cannot be read: {error}.",
            allowed="a UTF-8 text file of yours.",
            action="Correct it, then try again.",
        ) from None


def _changed(path: Path, change: Callable[[], Any]) -> Any:
    try:
        return change()
    except jsonc.BrokenError as error:
        raise MisuseError(
            f"{path} is left as it is: {error}.",
            allowed="a file the client itself can read.",
            action="Repair it, then try again.",
        ) from None


def _verify(client: Client, path: Path, expected: dict[str, Any], after: str, entry: Mapping[str, Any]) -> None:
    """Raise where the new text is anything but the ``expected`` old value with our entry."""
    form = _FORMS[client.form]
    if not isinstance(expected.get(client.section, {}), dict):
        raise MisuseError(f"{path}: {client.section} is no table.", allowed="a table of servers.", action="Repair it.")
    expected = {**expected, client.section: {**expected.get(client.section, {}), ENTRY: dict(entry)}}
    if form.parse(after) != expected:
        raise MachineryError(f"{path} is written in a form this does not change safely; add the entry by hand.")
