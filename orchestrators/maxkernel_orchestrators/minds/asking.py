"""One question to a speaker, asked until a usable answer comes or patience ends. Every exchange is in the journal.

Faults that pass are waited for, answers that cannot be read are complained about, prompts that are too long are built
again shorter. What is spent is checked before each exchange, never after.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import anyio
from pydantic import ValidationError

from maxkernel_orchestrators.job.journal import Journal, Spending
from maxkernel_orchestrators.job.ledger import BudgetSpentError, Ledger
from maxkernel_orchestrators.minds.port import MindFaultError
from maxkernel_orchestrators.minds.speaking import PASSING, Reply, Speaker, SpeakerFaultError
from maxkernel_tools.records.base import Record

LONGEST_FIELD: Final = 24_000
"""Characters of one field of a prompt: a context is built to a budget, not accumulated."""
_SHORTER: Final = 3
_LONGEST_ANSWER: Final = 1_000_000
_BLOCK = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_Answer = TypeVar("_Answer", bound=Record)
Build = Callable[[int], str]
"""``build(limit)`` returns the prompt with no field over ``limit`` characters."""


@dataclass(frozen=True)
class Patience:
    """How long a question is pursued.

    Attributes:
        answers: usable answers hoped for: so many unreadable, refused or empty ones end the question.
        waits: faults that pass, in one question.
        first_wait_s: the first wait after such a fault; each further one is twice as long.
        longest_wait_s: a wait is never longer, and who asks for a longer one is not waited for.
    """

    answers: int = 3
    waits: int = 4
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0


PATIENCE: Final = Patience()


class Exchange(Record):
    """One prompt's answer as it came, or the fault; kept in the journal, from which a run can be replayed.

    Attributes:
        text: what was said.
        fault: why it cannot be used, in words, and ``kind``, the sort of fault; both empty where it can.
        retry_after_s: the wait the other side asked for.
    """

    role: str
    text: str = ""
    fault: str = ""
    kind: str = ""
    retry_after_s: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0

    def spending(self) -> Spending:
        """What it cost, for the ledger."""
        return Spending(fault=self.kind, input_tokens=self.input_tokens, output_tokens=self.output_tokens, usd=self.usd)


class Questioner:
    """Asks one speaker.

    Args:
        speaker: who answers.
        journal: keeps every exchange; an exchange that is there is not asked for again.
        ledger: allows or forbids the next one.
        patience: how long a question is pursued.
        sleep: waits, in seconds.
    """

    def __init__(
        self,
        speaker: Speaker,
        journal: Journal,
        ledger: Ledger,
        patience: Patience | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._speaker, self._journal, self._ledger = speaker, journal, ledger
        self._patience = patience or PATIENCE
        self._sleep = sleep

    async def ask(self, role: str, build: Build, model: type[_Answer], turn: int) -> _Answer:
        """Return a readable answer.

        Args:
            role: whose question it is.
            build: builds the prompt.
            model: the form of the answer.
            turn: tells two askings of the same question apart.

        Raises:
            MindFaultError: none came; the message says why.
        """
        patience, complaint, limit, wait_s = self._patience, "", LONGEST_FIELD, 0.0
        unusable = waits = 0
        why = ""
        while unusable < patience.answers and waits <= patience.waits:
            attempt = unusable + waits
            exchange = await self._exchange(role, build(limit) + complaint, model, (turn, attempt), wait_s)
            wait_s, why = 0.0, exchange.fault
            if not exchange.kind:
                return model.model_validate_json(_json_of(exchange.text))
            if exchange.kind == "rejected":
                break
            if exchange.kind in PASSING:
                waits += 1
                wait_s = exchange.retry_after_s or patience.first_wait_s * 2 ** (waits - 1)
                if wait_s > patience.longest_wait_s and exchange.retry_after_s:
                    break
                wait_s = min(wait_s, patience.longest_wait_s)
                continue
            unusable += 1
            if exchange.kind == "overflow":
                limit //= _SHORTER
            else:
                complaint = f"\n\nYour last answer could not be used: {exchange.fault[:2000]}\nAnswer as asked above."
        raise MindFaultError(f"{role}: no usable answer in {unusable + waits or 1} exchanges; the last: {why[:500]}")

    async def _exchange(
        self, role: str, prompt: str, model: type[Record], turn: tuple[int, int], wait_s: float
    ) -> Exchange:
        async def say() -> Exchange:
            if wait_s:
                await self._sleep(wait_s)
            try:
                self._ledger.check()
            except BudgetSpentError as error:
                raise MindFaultError(str(error)) from error
            return _checked(await self._said(role, prompt), model)

        asked = {"speaker": self._speaker.name, "role": role, "prompt": prompt, "turn": turn[0], "attempt": turn[1]}
        return await self._journal.step("exchange", asked, Exchange, say, spent=Exchange.spending)

    async def _said(self, role: str, prompt: str) -> Exchange:
        """Let the speaker answer within the wall time that is left."""
        try:
            with anyio.fail_after(self._ledger.remaining_s()):
                return _exchange(role, await self._speaker.say(role, prompt))
        except TimeoutError:
            unknown = None if not self._speaker.priced else 0.0
            return Exchange(role=role, fault="the budget of time is spent", kind="timeout", usd=unknown)
        except SpeakerFaultError as fault:
            spent = _exchange(role, fault.spent or Reply(text=""))
            return spent.model_copy(
                update={"fault": str(fault)[:4000], "kind": fault.kind, "retry_after_s": fault.retry_after_s}
            )


def _exchange(role: str, reply: Reply) -> Exchange:
    return Exchange(
        role=role,
        text=reply.text,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        usd=reply.usd,
    )


def _checked(exchange: Exchange, model: type[Record]) -> Exchange:
    """Note on an answer that it cannot be read, and why."""
    if exchange.kind:
        return exchange
    if len(exchange.text) > _LONGEST_ANSWER:
        fault = f"it has {len(exchange.text)} characters; {_LONGEST_ANSWER} are read"
        return exchange.model_copy(update={"text": "", "fault": fault, "kind": "too-long"})
    if not exchange.text.strip():
        return exchange.model_copy(update={"fault": "it was empty", "kind": "no-answer"})
    try:
        model.model_validate_json(_json_of(exchange.text))
    except ValidationError as error:
        return exchange.model_copy(update={"fault": _words(error), "kind": "malformed"})
    return exchange


def _words(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc']) or 'the answer'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)[:8]
    )


def _json_of(text: str) -> str:
    blocks = _BLOCK.findall(text)
    for block in reversed(blocks):
        if block.lstrip().startswith("{"):
            return block
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def form_words(model: type[Record]) -> str:
    """What a role's answer must look like, as its prompt says it."""
    return "Answer with one JSON object of this schema and nothing else:\n" + json.dumps(model.model_json_schema())


def cut(text: str, limit: int) -> str:
    """Shorten a field of a prompt, saying that it was."""
    return text if len(text) <= limit else text[:limit] + f"\n[{len(text) - limit} characters cut]"
