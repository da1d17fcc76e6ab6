"""The port to whatever answers prompts, and the faults it may have. A speaker knows nothing of kernels."""

from __future__ import annotations

from typing import Protocol


class SpeakerFaultError(Exception):
    """A prompt got no usable answer: refusal, timeout, rate limit, overflow, or nothing left to say."""


class Speaker(Protocol):
    """Answers one prompt with text."""

    @property
    def name(self) -> str:
        """As settings name it."""
        ...

    async def say(self, role: str, prompt: str) -> str:
        """Return the answer to ``prompt``.

        Raises:
            SpeakerFaultError: there is none.
        """
        ...
