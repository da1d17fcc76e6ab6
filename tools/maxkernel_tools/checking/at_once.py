"""Several awaitable steps at a time, whose failure comes out as itself rather than wrapped in a group."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import anyio

from maxkernel_tools.errors import MaxKernelError

Answer = TypeVar("Answer")

AT_ONCE: Final = 2
"""Children of one call that run side by side; the lab's admission decides over all calls."""


async def all_of(steps: Sequence[Callable[[], Awaitable[Answer]]]) -> list[Answer]:
    """Return the answers of ``steps`` in their order; the first failure ends the others.

    Raises:
        MaxKernelError: what the first step to fail raised. Out of a task group it would come as an ``ExceptionGroup``,
            which no face of the lab takes for a misuse or for the lab's own failure.
    """
    answers: dict[int, Answer] = {}
    failures: list[MaxKernelError] = []
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async with anyio.create_task_group() as group:

        async def one(index: int, step: Callable[[], Awaitable[Answer]]) -> None:
            async with limiter:
                try:
                    answers[index] = await step()
                except MaxKernelError as failure:
                    failures.append(failure)
                    group.cancel_scope.cancel()

        for index, step in enumerate(steps):
            group.start_soon(one, index, step)
    if failures:
        raise failures[0]
    return [answers[index] for index in range(len(steps))]
