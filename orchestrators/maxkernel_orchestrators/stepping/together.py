"""Two waits at once: the lab interprets on one core while its compiler works on another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

_One = TypeVar("_One")
_Other = TypeVar("_Other")


async def together(one: Callable[[], Awaitable[_One]], other: Callable[[], Awaitable[_Other]]) -> tuple[_One, _Other]:
    """Return both answers; an error of either cancels the other."""
    first: list[_One] = []
    second: list[_Other] = []

    async def run_one() -> None:
        first.append(await one())

    async def run_other() -> None:
        second.append(await other())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_one)
        tasks.start_soon(run_other)
    return first[0], second[0]
