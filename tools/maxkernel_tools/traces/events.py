"""Events of one core in columns: a million of them as Python objects would take a gigabyte. Owns no meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from maxkernel_tools.errors import MisuseError

Column = np.ndarray[tuple[int], np.dtype[np.int64]]

_LIMIT: Final = 1 << 62
"""Largest time in ps this reads, 53 days: sums of two stay inside 64 bits."""


@dataclass(frozen=True)
class Events:
    """Events of one kind, in the order of the file.

    Attributes:
        labels: names that occur; ``names`` are indices into it. ``facts``: indices into the core's facts.
        host_start, host_ps: by the host's clock.
        device_start, device_ps: by the device's, 0 where ``timed`` is False.
        timed: whether the capture gives the device's clock for the event.
    """

    labels: Sequence[str]
    names: Column
    host_start: Column
    host_ps: Column
    device_start: Column
    device_ps: Column
    timed: np.ndarray[tuple[int], np.dtype[np.bool_]]
    facts: Column

    def __len__(self) -> int:
        """How many there are."""
        return len(self.names)

    @property
    def untimed(self) -> int:
        """How many lack the device's clock."""
        return len(self.timed) - int(self.timed.sum())

    def span(self, *, device: bool) -> tuple[Column, Column]:
        """Return starts and lengths by one of the clocks."""
        return (self.device_start, self.device_ps) if device else (self.host_start, self.host_ps)


def no_events() -> Events:
    """Return none."""
    return Gathering().events("")


def _seven() -> tuple[list[int], ...]:
    return ([], [], [], [], [], [], [])


@dataclass
class Gathering:
    """Collects events one by one into columns."""

    labels: list[str] = field(default_factory=list[str])
    _known: dict[str, int] = field(default_factory=dict[str, int])
    _columns: tuple[list[int], ...] = field(default_factory=_seven)

    def label(self, name: str) -> int:
        """Return the index of a name."""
        at = self._known.get(name)
        if at is None:
            at = self._known[name] = len(self.labels)
            self.labels.append(name)
        return at

    def add(self, name: int, host: tuple[int, int], device: tuple[int | None, int | None], facts: int) -> None:
        """Add one event: start and length by the host's clock, and by the device's where it is known."""
        start, length = device
        timed = start is not None and length is not None
        values = (name, *host, start if timed else 0, length if timed else 0, timed, facts)
        for column, value in zip(self._columns, values, strict=True):
            column.append(int(value or 0))

    def events(self, capture: str) -> Events:
        """Return the columns.

        Raises:
            MisuseError: a time no capture can have.
        """
        names, host_start, host_ps, device_start, device_ps, timed, facts = self._columns
        for column in (host_start, host_ps, device_start, device_ps):
            check_times(min(column, default=0), max(column, default=0), capture)
        return Events(
            labels=self.labels,
            names=np.array(names, np.int64),
            host_start=np.array(host_start, np.int64),
            host_ps=np.array(host_ps, np.int64),
            device_start=np.array(device_start, np.int64),
            device_ps=np.array(device_ps, np.int64),
            timed=np.array(timed, np.bool_),
            facts=np.array(facts, np.int64),
        )


def check_times(low: int, high: int, capture: str) -> None:
    """Refuse times whose sums would not fit.

    Args:
        low: the least time there is, ps.
        high: the largest.
        capture: its name, for the error.

    Raises:
        MisuseError: one is too large.
    """
    if max(-low, high) >= _LIMIT:
        raise MisuseError(
            f"The capture {capture} holds a time of more than 53 days.",
            allowed="an intact capture.",
            action="Copy the file again, or capture again.",
        )


def joined(parts: Sequence[Events]) -> Events:
    """Return the events of several lanes as one; names are joined by text."""
    if len(parts) == 1:
        return parts[0]
    known: dict[str, int] = {}
    mapped: list[Column] = []
    for part in parts:
        table = np.array([known.setdefault(label, len(known)) for label in part.labels], np.int64)
        mapped.append(table[part.names] if len(table) else part.names)
    if not parts:
        return no_events()
    return Events(
        labels=list(known),
        names=np.concatenate(mapped),
        host_start=np.concatenate([part.host_start for part in parts]),
        host_ps=np.concatenate([part.host_ps for part in parts]),
        device_start=np.concatenate([part.device_start for part in parts]),
        device_ps=np.concatenate([part.device_ps for part in parts]),
        timed=np.concatenate([part.timed for part in parts]),
        facts=np.concatenate([part.facts for part in parts]),
    )
