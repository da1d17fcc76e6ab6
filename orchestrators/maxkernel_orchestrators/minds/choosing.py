"""From the ``author`` setting to a mind: ``builtin``, ``scripted:FILE``, ``replay:JOB_FOLDER``."""

from __future__ import annotations

from pathlib import Path

from maxkernel_orchestrators.job.journal import Journal
from maxkernel_orchestrators.minds.builtin import BuiltinMind
from maxkernel_orchestrators.minds.port import Mind
from maxkernel_orchestrators.minds.prompted import Exchange, PromptedMind
from maxkernel_orchestrators.minds.recorded import ScriptedSpeaker, read_recording, read_script
from maxkernel_tools.errors import MisuseError


def choose_mind(author: str, journal: Journal) -> Mind:
    """Return the mind the setting names.

    Raises:
        MisuseError: there is no such author; the message lists them.
    """
    kind, _, rest = author.partition(":")
    if author in {"", "builtin"}:
        return BuiltinMind()
    if kind in {"scripted", "replay"} and rest:
        lines = read_script(Path(rest)) if kind == "scripted" else read_recording(Path(rest))
        said: dict[str, int] = {}
        for exchange in journal.answers("exchange", Exchange):
            said[exchange.role] = said.get(exchange.role, 0) + 1
        return PromptedMind(ScriptedSpeaker(lines, author, said), journal)
    raise MisuseError(
        f"Unknown author {author!r}.",
        allowed="builtin, scripted:FILE, replay:JOB_FOLDER.",
        action="Set author to one of these.",
    )
