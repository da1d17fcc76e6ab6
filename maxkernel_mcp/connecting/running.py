"""Open the way to a lab, bridge it to stdin and stdout, and end with whichever side ends first."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import anyio
from anyio.abc import Process
from anyio.streams.stapled import StapledByteStream
from mcp.server.stdio import stdio_server

from maxkernel_mcp.connecting.bridge import Bridge
from maxkernel_mcp.connecting.places import Place
from maxkernel_mcp.serving import arm_hard_exit, leave, message_streams, signal_comes
from maxkernel_tools.errors import MachineryError, MaxKernelError, MisuseError

_CONNECT_S: Final = 20.0
_READ_S: Final = 330.0
"""Longer than any answer takes: calls are handed over at 40 s, and progress comes every 10 s."""
_TAIL_CHARS: Final = 600
_LAST_WORDS_S: Final = 2.0


async def connect(place: Place, tell: Callable[[str], None]) -> None:
    """Bridge until the client goes, a signal comes, or the lab is lost; then end the process.

    The SDK reads stdin in a thread that cannot be interrupted, so the process does not wait for it.

    Args:
        place: where the lab is.
        tell: told why, where the lab cannot be reached or was lost; everything asked of it is answered with that too.
    """
    bridge, said, out = Bridge(), list[str](), _Output()
    async with stdio_server(stdout=cast("Any", out)) as near, anyio.create_task_group() as group:
        group.start_soon(_leave_on_signal, bridge, group.cancel_scope)
        try:
            failure = await _bridged(bridge, place, near, said)
        except anyio.get_cancelled_exc_class():
            leave()
        if failure or bridge.lost:
            why = failure or " ".join(said) or "it closed the connection."
            words = f"No lab at {place.shown}: {why} Start it again there, then restart this server in your client."
            # Written here, not handed to the SDK's writer, which may not have come round to it when the process ends.
            await out.write("".join(f"{line}\n" for line in bridge.answers_for_the_lab(words)))
            await out.flush()
            tell(words)
            leave(3)
        leave()


class _Output:
    """Stdout as the SDK's writer uses it, with one write at a time, so that others may write too."""

    def __init__(self) -> None:
        self._file = anyio.wrap_file(os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n"))
        self._lock = anyio.Lock()

    async def write(self, text: str) -> None:
        async with self._lock:
            await self._file.write(text)

    async def flush(self) -> None:
        async with self._lock:
            await self._file.flush()


async def _leave_on_signal(bridge: Bridge, scope: anyio.CancelScope) -> None:
    await signal_comes()
    bridge.lost = False
    arm_hard_exit()
    scope.cancel()


async def _bridged(bridge: Bridge, place: Place, near: tuple[Any, Any], said: list[str]) -> str:
    """Run the bridge; return what broke it, or nothing."""
    import httpx2  # noqa: PLC0415 - the client's half of the SDK costs half a second

    way = _by_ssh(place, said) if place.ssh_host else _by_http(place)
    failure = ""
    try:
        async with way as far:
            await bridge.run(near, far)
    except* (MaxKernelError, httpx2.HTTPError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as group:
        first = _first(group)
        failure = str(first) or type(first).__name__
    return f"{failure.removesuffix('.')}." if failure else ""


@asynccontextmanager
async def _by_http(place: Place) -> AsyncGenerator[tuple[Any, Any]]:
    import httpx2  # noqa: PLC0415 - as above
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - as above

    headers = {"Authorization": f"Bearer {place.token}"} if place.token else {}
    timeout = httpx2.Timeout(_CONNECT_S, read=_READ_S)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout) as client:
        # Asked first, for an answer in words: is it there, does it take this name and this token?
        probe = {"accept": "text/event-stream", "mcp-session-id": "none"}
        async with client.stream("GET", place.url, headers=probe) as answer:
            if answer.status_code == 401:
                raise MachineryError("it wants another token; see --token-file.")
            if answer.status_code in {403, 421}:
                raise MachineryError(f"it refuses to be called so ({answer.status_code}); see its --allow-host.")
        async with streamable_http_client(place.url, http_client=client) as streams:
            yield streams


@asynccontextmanager
async def _by_ssh(place: Place, said: list[str]) -> AsyncGenerator[tuple[Any, Any]]:
    keep_alive = [
        "-o",
        "ServerAliveInterval=15",
        "-o",
        "ServerAliveCountMax=4",
        "-o",
        f"ConnectTimeout={_CONNECT_S:.0f}",
    ]
    # BatchMode: stdin is the protocol's, so nobody could answer a password prompt.
    command = ["ssh", "-T", "-o", "BatchMode=yes", *keep_alive, place.ssh_host, place.command]
    try:
        process = await anyio.open_process(command, start_new_session=True)
    except FileNotFoundError:
        raise MisuseError(
            "There is no ssh on PATH.", allowed="a machine with ssh, or a lab over http.", action="Install OpenSSH."
        ) from None
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_keep_tail, process, said)
            if process.stdout is None or process.stdin is None:
                raise MachineryError("ssh was started without pipes.")
            async with message_streams(StapledByteStream(process.stdin, process.stdout)) as streams:
                yield streams
            with anyio.move_on_after(_LAST_WORDS_S):
                await process.wait()
            group.cancel_scope.cancel()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        with anyio.move_on_after(_LAST_WORDS_S, shield=True):
            await process.wait()


async def _keep_tail(process: Process, said: list[str]) -> None:
    """Keep the last words ssh and the server behind it write to their stderr."""
    if process.stderr is None:
        return
    tail = ""
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async for data in process.stderr:
            tail = (tail + data.decode("utf-8", "replace"))[-_TAIL_CHARS:]
            said[:] = [" ".join(tail.split())]


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    inner: BaseException = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner  # pyright: ignore[reportUnknownArgumentType]
