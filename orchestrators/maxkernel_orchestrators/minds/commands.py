"""Speakers that are coding agents' command lines: a headless process per exchange, the prompt on its stdin.

The only place of the orchestrators that starts processes. Each runs in an empty folder, under a leash (``leash.py``),
with a deadline and a limit on what it may say.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import anyio
from anyio.abc import ByteReceiveStream, Process

from maxkernel_orchestrators.minds.speaking import Reply, SpeakerFaultError
from maxkernel_tools.errors import MisuseError

TIMEOUT_S: Final = 900.0
OUTPUT_BYTES: Final = 4 << 20
_TAIL_BYTES: Final = 4000
_GRACE_S: Final = 3.0
_LEASH: Final = Path(__file__).with_name("leash.py")
Read = Callable[[str], Reply]
"""Reads what a command printed."""


@dataclass(frozen=True)
class Command:
    """A command line and how to read its answer.

    Attributes:
        words: program and arguments.
        read: reads its stdout.
        priced: whether it reports what an answer cost.
    """

    words: tuple[str, ...]
    read: Read
    priced: bool = False


def _plain(text: str) -> Reply:
    """The answer is all it printed; what it cost nobody says."""
    return Reply(text=text, usd=None)


def _claude(text: str) -> Reply:
    """``claude -p --output-format json``: one object with result, usage and cost."""
    told = _object(text)
    if told.get("is_error"):
        raise SpeakerFaultError(f"the agent reports an error: {str(told.get('result'))[:500]}", "crashed")
    usage = cast("dict[str, Any]", told.get("usage") or {})
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    cost = told.get("total_cost_usd")
    return Reply(
        text=str(told.get("result", "")),
        input_tokens=sum(_count(usage.get(name)) for name in read),
        output_tokens=_count(usage.get("output_tokens")),
        usd=float(cost) if isinstance(cost, int | float) else None,
    )


def _gemini(text: str) -> Reply:
    """``gemini --output-format json``: one object with the response, and statistics per model."""
    told = _object(text)
    if told.get("error"):
        raise SpeakerFaultError(f"the agent reports an error: {str(told['error'])[:500]}", "crashed")
    models = cast("dict[str, Any]", cast("dict[str, Any]", told.get("stats") or {}).get("models") or {})
    told_of = [cast("dict[str, Any]", entry) for entry in models.values() if isinstance(entry, dict)]
    tokens = [cast("dict[str, Any]", entry.get("tokens") or {}) for entry in told_of]
    return Reply(
        text=str(told.get("response", "")),
        input_tokens=sum(_count(entry.get("prompt")) for entry in tokens),
        output_tokens=sum(_count(entry.get("candidates")) + _count(entry.get("thoughts")) for entry in tokens),
        usd=None,
    )


def _object(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError as error:
        raise SpeakerFaultError(f"the agent printed no JSON: {text[:200]!r}", "malformed") from error
    if not isinstance(told, dict):
        raise SpeakerFaultError("the agent printed JSON of another form", "malformed")
    return cast("dict[str, Any]", told)


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


KNOWN: Final[dict[str, Command]] = {
    # No tools: the prompt holds all there is to know, and an agent with a shell could approve its own plans.
    "claude": Command(("claude", "-p", "--output-format", "json", "--tools", ""), _claude, priced=True),
    "codex": Command(("codex", "exec", "--sandbox", "read-only", "--skip-git-repo-check", "-"), _plain),
    "gemini": Command(("gemini", "--output-format", "json"), _gemini),
}


class CommandSpeaker:
    """Asks a command.

    Args:
        name: as settings name it.
        command: what to run.
        timeout_s: how long one answer may take.
        output_bytes: how much it may print.
    """

    def __init__(
        self, name: str, command: Command, *, timeout_s: float = TIMEOUT_S, output_bytes: int = OUTPUT_BYTES
    ) -> None:
        self.name = name
        self.priced = command.priced
        self._command, self._timeout_s, self._output_bytes = command, timeout_s, output_bytes

    async def say(self, role: str, prompt: str) -> Reply:  # noqa: ARG002 - the prompt says which role it is
        """Run the command on ``prompt``; return what it said."""
        with tempfile.TemporaryDirectory(prefix="maxkernel-agent-") as folder:
            code, out, err = await self._run(prompt, folder)
        if code:
            words = f"it ended with code {code}: {err.strip()[-400:] or out.strip()[-400:] or 'it said nothing'}"
            raise SpeakerFaultError(words, "rejected" if code == 127 else "crashed", spent=self._unknown())
        return self._command.read(out)

    async def _run(self, prompt: str, folder: str) -> tuple[int, str, str]:
        words = [sys.executable, "-I", str(_LEASH), str(os.getpid()), *self._command.words]
        process = await anyio.open_process(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
        )
        out, err = bytearray(), bytearray()
        try:
            with anyio.move_on_after(self._timeout_s) as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_feed, process, prompt)
                    tasks.start_soon(_tail, process.stderr, err)
                    whole = await _collect(process.stdout, out, self._output_bytes)
                    if whole:
                        await process.wait()
                    tasks.cancel_scope.cancel()
            if scope.cancelled_caught:
                raise SpeakerFaultError(f"no answer within {self._timeout_s:g} s", "timeout", spent=self._unknown())
            if process.returncode is None:
                raise SpeakerFaultError(
                    f"it printed more than {self._output_bytes} bytes", "too-long", spent=self._unknown()
                )
        finally:
            await _end(process)
        return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def _unknown(self) -> Reply:
        return Reply(text="", usd=None)


async def _feed(process: Process, prompt: str) -> None:
    if process.stdin is not None:
        # An agent need not read its prompt to the end.
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            await process.stdin.send(prompt.encode())
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            await process.stdin.aclose()


async def _collect(stream: ByteReceiveStream | None, into: bytearray, limit: int) -> bool:
    """Read to the end; False where there is more than ``limit``."""
    if stream is None:
        return True
    with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while len(into) <= limit:
            into += await stream.receive()
        return False
    return True


async def _tail(stream: ByteReceiveStream | None, into: bytearray) -> None:
    """Keep the end of what it says on stderr."""
    if stream is None:
        return
    with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while True:
            into += await stream.receive()
            del into[:-_TAIL_BYTES]


async def _end(process: Process) -> None:
    """Have the leash kill what it holds; where it does not, kill its group."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            with anyio.move_on_after(_GRACE_S):
                await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        await process.aclose()


def command_speaker(author: str, *, timeout_s: float = TIMEOUT_S, output_bytes: int = OUTPUT_BYTES) -> CommandSpeaker:
    """Return the speaker of ``cli:NAME`` or ``cli:COMMAND LINE``.

    Raises:
        MisuseError: there is no such program, or no command line.
    """
    rest = author.partition(":")[2]
    try:
        command = KNOWN.get(rest) or Command(tuple(shlex.split(rest)), _plain)
    except ValueError as error:
        raise _no_command(author, str(error)) from error
    if not command.words:
        raise _no_command(author, "there is no command")
    if shutil.which(command.words[0]) is None:
        raise _no_command(author, f"there is no program {command.words[0]!r} on the PATH")
    return CommandSpeaker(author, command, timeout_s=timeout_s, output_bytes=output_bytes)


def _no_command(author: str, why: str) -> MisuseError:
    return MisuseError(
        f"The author {author!r} cannot be started: {why}.",
        allowed=f"cli:{', cli:'.join(KNOWN)}, or cli: and a command line that reads a prompt from its stdin and prints "
        "the answer.",
        action="Install the program, or name one that is there.",
    )
