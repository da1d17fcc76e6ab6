"""Speakers that need nobody: answers from a script, or from the journal of an earlier job."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict, deque
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from maxkernel_orchestrators.minds.asking import Exchange
from maxkernel_orchestrators.minds.speaking import FaultKind, Reply, SpeakerFaultError
from maxkernel_tools.errors import MisuseError


class ScriptLine(BaseModel):
    """One line of a script: the role that speaks, what it says or the fault it has, and what that costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str
    text: str = ""
    fault: str = ""
    kind: FaultKind = "no-answer"
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


class ScriptedSpeaker:
    """Says its lines role by role, in order; where the script ends it has no answer.

    Args:
        lines: the script.
        name: as settings name it.
        said: lines of each role that an earlier session has heard already.
    """

    def __init__(self, lines: list[ScriptLine], name: str, said: dict[str, int] | None = None) -> None:
        self.name = name
        self.priced = True
        self._lines: defaultdict[str, deque[ScriptLine]] = defaultdict(deque)
        for line in lines:
            self._lines[line.role].append(line)
        for role, count in (said or {}).items():
            for _ in range(min(count, len(self._lines[role]))):
                self._lines[role].popleft()

    async def say(self, role: str, prompt: str) -> Reply:  # noqa: ARG002 - a script does not listen
        """Return the role's next line."""
        if not self._lines[role]:
            raise SpeakerFaultError(f"the script has no more lines for the {role}")
        line = self._lines[role].popleft()
        reply = Reply(text=line.text, input_tokens=line.input_tokens, output_tokens=line.output_tokens, usd=line.usd)
        if line.fault:
            raise SpeakerFaultError(line.fault, line.kind, spent=reply)
        return reply


def read_script(path: Path) -> list[ScriptLine]:
    """Read a script: a JSON list of ``{role, text}`` or ``{role, fault}``.

    Raises:
        MisuseError: it cannot be read or has another form.
    """
    try:
        return TypeAdapter(list[ScriptLine]).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise MisuseError(
            f"{path} is not a script: {error}",
            allowed='a JSON list of {"role": ..., "text": ...}.',
            action="Check the author setting.",
        ) from error


def read_recording(job: Path) -> list[ScriptLine]:
    """Return every exchange of an earlier job, in order, as a script.

    Raises:
        MisuseError: the folder holds no journal with exchanges.
    """
    path = job / "journal.sqlite3"
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT answer FROM steps WHERE kind = 'exchange' ORDER BY created").fetchall()
    except sqlite3.Error as error:
        raise MisuseError(
            f"{job} cannot be replayed: {error}", allowed="the folder of a job.", action="Give its path."
        ) from error
    exchanges = [Exchange.model_validate(json.loads(row[0])) for row in rows]
    return [_line(exchange) for exchange in exchanges]


def _line(exchange: Exchange) -> ScriptLine:
    """What was said again word for word, and judged anew; a fault of the speaker's again as that fault."""
    if exchange.text and exchange.kind in {"", "malformed"}:
        return ScriptLine(role=exchange.role, text=exchange.text)
    fault = exchange.fault or "it was empty"
    return ScriptLine.model_validate({"role": exchange.role, "fault": fault, "kind": exchange.kind or "no-answer"})
