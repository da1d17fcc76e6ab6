"""Find tasks: by id under the given roots, or by folder. Reads lazily and keeps what it read while the files stand."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.tasks.loading import REFERENCE_FILE, TASK_FILE, Task, load_task

_Stamp = tuple[int, int, int, int]


class TaskCatalog:
    """The tasks under some roots. A root holds one folder per task, named by the task's id.

    Args:
        roots: folders of task folders, in order of precedence; a missing root counts as empty.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(roots)
        self._read: dict[Path, tuple[_Stamp, Task]] = {}

    def ids(self) -> tuple[str, ...]:
        """Return every id, in reading order (numbers by value), without reading the tasks."""
        return tuple(self._folders())

    def list(self) -> list[Task]:
        """Return every task, in the order of ``ids``."""
        return [self._load(folder) for folder in self._folders().values()]

    def find(self, name: str | Path) -> Task:
        """Return the task with id ``name`` (case does not matter; ``8p`` is enough for ``8p_GEMM``) or in that folder.

        Raises:
            MisuseError: there is none; close ids are suggested. Or its files are not in order.
        """
        folders = self._folders()
        text = str(name)
        if text in folders:
            return self._load(folders[text])
        path = Path(text).expanduser()
        if "/" in text or _is_task(path):
            return self._load(path.resolve())
        folded = text.strip().casefold()
        matches = [key for key in folders if key.casefold() == folded or key.casefold().split("_")[0] == folded]
        if len(matches) == 1:
            return self._load(folders[matches[0]])
        raise self._unknown(text, list(folders))

    def _folders(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for root in self._roots:
            if not root.is_dir():
                continue
            here = [entry for entry in root.iterdir() if entry.joinpath(TASK_FILE).is_file()]
            for folder in sorted(here, key=lambda entry: _natural(entry.name)):
                found.setdefault(folder.name, folder)
        return found

    def _load(self, folder: Path) -> Task:
        try:
            stamp = (*_stamp(folder / TASK_FILE), *_stamp(folder / REFERENCE_FILE))
        except OSError:
            return load_task(folder)  # raises the complaint that names the missing file
        kept = self._read.get(folder)
        if kept is None or kept[0] != stamp:
            kept = (stamp, load_task(folder))
            self._read[folder] = kept
        return kept[1]

    def _unknown(self, name: str, ids: Sequence[str]) -> MisuseError:
        by_fold = {key.casefold(): key for key in ids}
        tails = {key.casefold().partition("_")[2]: key for key in ids}
        pool = {**tails, **by_fold}
        close = difflib.get_close_matches(name.casefold(), pool, n=4, cutoff=0.5)
        inside = [key for key in ids if len(name) >= 3 and name.casefold() in key.casefold()]
        near = list(dict.fromkeys([*(pool[key] for key in close), *inside]))[:5]
        hint = f"Did you mean {' or '.join(near)}?" if near else "List them with list_tasks."
        return MisuseError(
            f"Unknown task {name!r}.",
            allowed=f"the id of one of {len(ids)} tasks, or a folder holding {TASK_FILE} and {REFERENCE_FILE}.",
            action=hint,
        )


def _natural(name: str) -> tuple[int, str]:
    digits = re.match(r"\d+", name)
    return (int(digits.group()) if digits else 1_000_000, name)


def _stamp(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_mtime_ns, facts.st_size


def _is_task(folder: Path) -> bool:
    try:
        return folder.joinpath(TASK_FILE).is_file()
    except OSError:
        return False  # a name no folder can have, for its length
