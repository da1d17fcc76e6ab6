"""JaxBench, hardened: kernel tasks as folders of data, an audit of them, a score, and the ``jaxbench`` command.

The package holds data and a face of the lab. ``task_roots`` tells the lab where the tasks lie; only the worker executes
a task's ``reference.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

SPLITS: Final = {"jaxbench": "tasks", "models": "models"}
"""Split name to the folder of its tasks: the 50 published tasks, and workloads of current models."""


def task_roots() -> tuple[Path, ...]:
    """Return the folders that hold the task folders, one per split."""
    here = Path(__file__).resolve().parent
    return tuple(here / folder for folder in SPLITS.values())
