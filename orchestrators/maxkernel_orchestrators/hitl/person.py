"""The port to the person. A terminal implements it; a page can."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class PersonLeftError(Exception):
    """The person left; the session goes on from here when they come back."""


class Person(Protocol):
    """Somebody who reads, decides and edits."""

    def show(self, text: str) -> None:
        """Put text before them."""
        ...

    async def choose(self, question: str, options: Sequence[str]) -> str:
        """Return one of ``options``.

        Raises:
            PersonLeftError: they are gone.
        """
        ...

    async def write(self, question: str) -> str:
        """Return a line of theirs, possibly empty.

        Raises:
            PersonLeftError: they are gone.
        """
        ...

    async def edit(self, path: Path) -> bool:
        """Let them change a file; False where they would rather not.

        Raises:
            PersonLeftError: they are gone.
        """
        ...
