"""The port to whatever answers prompts, and the faults it may have. A speaker knows nothing of kernels."""

from __future__ import annotations

from typing import Final, Literal, Protocol

from maxkernel_tools.records.base import Record

FaultKind = Literal[
    "malformed",
    "no-answer",
    "refusal",
    "wrong-tool",
    "timeout",
    "rate-limit",
    "server-error",
    "connection",
    "truncated",
    "overflow",
    "too-long",
    "crashed",
    "rejected",
]
"""What can go wrong with an exchange; the result counts each kind by this name."""
PASSING: Final[frozenset[FaultKind]] = frozenset(
    {"timeout", "rate-limit", "server-error", "connection", "truncated", "crashed"}
)
"""Faults that may be gone after a while: worth waiting for."""


class Reply(Record):
    """An answer, and what it cost.

    Attributes:
        usd: None where the price is not known.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


class SpeakerFaultError(Exception):
    """A prompt got no usable answer.

    Args:
        message: in words; never holds a key.
        kind: what sort of fault; ``rejected`` will not be different next time.
        retry_after_s: how long the other side asked to wait.
        spent: what it cost all the same, where that is known.
    """

    def __init__(
        self,
        message: str,
        kind: FaultKind = "no-answer",
        *,
        retry_after_s: float | None = None,
        spent: Reply | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.retry_after_s = retry_after_s
        self.spent = spent


class Speaker(Protocol):
    """Answers one prompt with text."""

    @property
    def name(self) -> str:
        """As settings name it."""
        ...

    @property
    def priced(self) -> bool:
        """Whether the cost of an answer will be known."""
        ...

    async def say(self, role: str, prompt: str) -> Reply:
        """Return the answer to ``prompt``; it must end by itself, in minutes.

        Raises:
            SpeakerFaultError: there is none.
        """
        ...
