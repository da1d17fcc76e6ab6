"""Several speakers behind one name: each role has its own."""

from __future__ import annotations

from collections.abc import Mapping

from maxkernel_orchestrators.minds.speaking import Reply, Speaker


class CompanySpeaker:
    """Lets each role be played by the speaker chosen for it.

    Args:
        name: as settings name the company.
        speakers: by role.
        others: plays every role that has none.
    """

    def __init__(self, name: str, speakers: Mapping[str, Speaker], others: Speaker) -> None:
        self.name = name
        self._speakers, self._others = dict(speakers), others

    @property
    def priced(self) -> bool:
        """Whether the cost of every answer will be known."""
        return all(speaker.priced for speaker in (*self._speakers.values(), self._others))

    async def say(self, role: str, prompt: str) -> Reply:
        """Ask the role's speaker."""
        return await self._speakers.get(role, self._others).say(role, prompt)
