"""A person at a terminal. Text goes to stderr, as progress does; what they type is read without blocking."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import anyio

from maxkernel_orchestrators.hitl.person import PersonLeftError

_LONGEST_LINE = 16_000


class TerminalPerson:
    """Asks on a terminal.

    Args:
        descriptor: where they type.
        out: where they read.
    """

    def __init__(self, descriptor: int = 0, out: TextIO | None = None) -> None:
        self._descriptor, self._out = descriptor, out or sys.stderr
        self._typed = bytearray()

    def show(self, text: str) -> None:
        """Print it."""
        self._out.write(text + "\n")
        self._out.flush()

    async def choose(self, question: str, options: Sequence[str]) -> str:
        """Ask until one option is named, by its word or the start of it."""
        shown = ", ".join(options)
        while True:
            typed = (await self.write(f"\n{question}? [{shown}]")).lower()
            fitting = [option for option in options if typed and option.startswith(typed)]
            if typed in options or len(fitting) == 1:
                return typed if typed in options else fitting[0]
            self.show(f"Type one of: {shown}.")

    async def write(self, question: str) -> str:
        """Ask for a line."""
        self._out.write(f"{question} > ")
        self._out.flush()
        return await self._line()

    async def edit(self, path: Path) -> bool:
        """Name the file, and wait until they say that it is changed."""
        self.show(f"Change this file in an editor and save it:\n  {path}")
        return (await self.choose("Then", ("done", "back"))) == "done"

    async def _line(self) -> str:
        while b"\n" not in self._typed:
            await anyio.wait_readable(self._descriptor)
            try:
                data = os.read(self._descriptor, 4096)
            except OSError as error:
                raise PersonLeftError("The terminal is gone.") from error
            if not data or len(self._typed) > _LONGEST_LINE:
                raise PersonLeftError("The person left.")
            self._typed += data
        line, _, rest = bytes(self._typed).partition(b"\n")
        self._typed = bytearray(rest)
        return line.decode("utf-8", "replace").strip()
