"""From the ``author`` setting to a mind. Different roles may be played by different speakers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from maxkernel_orchestrators.job.journal import Journal
from maxkernel_orchestrators.job.ledger import Ledger
from maxkernel_orchestrators.minds.asking import Exchange
from maxkernel_orchestrators.minds.builtin import BuiltinMind
from maxkernel_orchestrators.minds.commands import command_speaker
from maxkernel_orchestrators.minds.company import CompanySpeaker
from maxkernel_orchestrators.minds.models import PROVIDERS, model_speaker
from maxkernel_orchestrators.minds.port import Mind
from maxkernel_orchestrators.minds.prompted import PromptedMind
from maxkernel_orchestrators.minds.recorded import ScriptedSpeaker, read_recording, read_script
from maxkernel_orchestrators.minds.speaking import Speaker
from maxkernel_orchestrators.roles import ROLES
from maxkernel_tools.errors import MisuseError

_ALLOWED: Final = (
    "builtin, anthropic:MODEL, openai:MODEL, google:MODEL, ollama:MODEL, openai:MODEL@URL, cli:claude, cli:codex, "
    "cli:gemini, cli:COMMAND, scripted:FILE, replay:JOB_FOLDER; or one per role: planner=...,implementer=..."
)
_ROLE: Final = re.compile(rf"(?:^|,)\s*({'|'.join(ROLES)})\s*=")


def choose_mind(author: str, journal: Journal, ledger: Ledger | None = None) -> Mind:
    """Return the mind the setting names.

    Raises:
        MisuseError: there is no such author (the message lists them), it cannot work here, or its price is unknown
            while money is limited.
    """
    if author in {"", "builtin"}:
        return BuiltinMind()
    accounts = ledger or Ledger(journal)
    speaker = _per_role(author, journal) if _ROLE.match(author) else _speaker(author, journal)
    accounts.require_price(author, priced=speaker.priced)
    return PromptedMind(speaker, journal, accounts)


def _speaker(author: str, journal: Journal) -> Speaker:
    kind, _, rest = author.partition(":")
    if kind in {"scripted", "replay"} and rest:
        return _recorded(author, journal)
    if kind in PROVIDERS:
        return model_speaker(author)
    if kind == "cli" and rest:
        return command_speaker(author)
    if author == "client":
        raise MisuseError(
            "The connected client's own model cannot be the author: MCP lets a server ask it only while a call of the "
            "client is open, and an optimisation outlives its call.",
            allowed=_ALLOWED + ".",
            action="Let the client's model drive the tools itself (prompt optimize_auto), or name another author.",
        )
    raise MisuseError(f"Unknown author {author!r}.", allowed=_ALLOWED + ".", action="Set author to one of these.")


def _recorded(author: str, journal: Journal) -> Speaker:
    kind, _, rest = author.partition(":")
    lines = read_script(Path(rest)) if kind == "scripted" else read_recording(Path(rest))
    said: dict[str, int] = {}
    for exchange in journal.answers("exchange", Exchange):
        said[exchange.role] = said.get(exchange.role, 0) + 1
    return ScriptedSpeaker(lines, author, said)


def _per_role(author: str, journal: Journal) -> Speaker:
    """Read ``role=author,role=author``. Roles that are not named are played by the planner's author."""
    chosen = split_roles(author)
    if "planner" not in chosen or "implementer" not in chosen:
        raise MisuseError(
            f"{author!r} names no author for every role that is needed.",
            allowed="at least planner=... and implementer=...; the debugger is the implementer's author, every other "
            "role the planner's, where not named.",
            action="Name both.",
        )
    if "builtin" in chosen.values():
        raise MisuseError(
            "The built-in author reads no prompts, so it cannot play single roles.",
            allowed="authors that are models, commands, scripts or recordings.",
            action="Use author builtin for all roles, or name another for these.",
        )
    made: dict[str, Speaker] = {}
    for name in chosen.values():
        if name not in made:
            made[name] = _speaker(name, journal)
    speakers = {role: made[name] for role, name in chosen.items()}
    speakers.setdefault("debugger", speakers["implementer"])
    return CompanySpeaker(author, speakers, speakers["planner"])


def split_roles(author: str) -> dict[str, str]:
    """Return the author of each role that ``role=author,...`` names."""
    marks = list(_ROLE.finditer(author))
    ends = [mark.start() for mark in marks[1:]] + [len(author)]
    return {mark.group(1): author[mark.end() : end].strip().rstrip(",") for mark, end in zip(marks, ends, strict=True)}
