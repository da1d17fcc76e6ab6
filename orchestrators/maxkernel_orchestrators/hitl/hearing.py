"""The person's words, kept in the journal: a session that is taken up again hears them from there, not asks anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio

from maxkernel_orchestrators.hitl.person import Person
from maxkernel_orchestrators.job.journal import Journal
from maxkernel_tools.records.base import Record

_LONGEST_FILE = 1 << 20


class Word(Record):
    """A choice or a line."""

    text: str


class Edit(Record):
    """A file as the person left it; ``done`` False where they left it alone."""

    done: bool
    text: str


class Hearing:
    """Asks a person, each thing once.

    Args:
        person: who answers.
        journal: keeps the answers.
        folder: where files to edit are put.
    """

    def __init__(self, person: Person, journal: Journal, folder: Path) -> None:
        self._person, self._journal, self._folder = person, journal, folder
        self._turn = 0

    @property
    def turn(self) -> int:
        """How often the person was asked so far."""
        return self._turn

    def show(self, text: str) -> None:
        """Put text before the person."""
        self._person.show(text)

    async def choose(self, question: str, options: Sequence[str]) -> str:
        """Return the person's choice."""

        async def ask() -> Word:
            return Word(text=await self._person.choose(question, options))

        return await self._heard("choose", question, ask)

    async def write(self, question: str) -> str:
        """Return a line of the person's."""

        async def ask() -> Word:
            return Word(text=await self._person.write(question))

        return await self._heard("write", question, ask)

    async def edit(self, name: str, text: str) -> str | None:
        """Return the text as the person changed it; None where they left it."""
        self._turn += 1
        path = anyio.Path(self._folder / name)

        async def ask() -> Edit:
            await path.write_text(text, encoding="utf-8")
            if not await self._person.edit(Path(path)):
                return Edit(done=False, text="")
            data = await path.read_bytes()
            return Edit(done=True, text=data[:_LONGEST_FILE].decode("utf-8", "replace"))

        edit = await self._journal.step("edit", {"turn": self._turn, "name": name, "text": text}, Edit, ask)
        return edit.text if edit.done else None

    async def _heard(self, kind: str, question: str, ask: Callable[[], Awaitable[Word]]) -> str:
        self._turn += 1
        asked = {"turn": self._turn, "kind": kind, "question": question}
        before = self._journal.replayed
        word = await self._journal.step("person", asked, Word, ask)
        if self._journal.replayed > before:
            self._person.show(f"{question}: {word.text} (said before)")
        return word.text
