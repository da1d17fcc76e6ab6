"""Looking at processes from the outside."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether ``pid`` exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    """Living processes below ``pid``."""
    found: list[int] = []
    for member in [pid, *found]:
        try:
            text = Path(f"/proc/{member}/task/{member}/children").read_text()
        except OSError:
            continue
        found += [int(child) for child in text.split() if alive(int(child))]
    return found


def eventually(condition: Callable[[], bool], otherwise: str, within_s: float = 10.0) -> None:
    """Fail with ``otherwise`` unless ``condition`` holds within the deadline."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, otherwise
        select.select([], [], [], 0.02)
