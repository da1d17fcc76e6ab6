"""Talks to the audit service of the worker: one process, one request at a time, an end that takes the process along."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from maxkernel_lab.runtimes.environment import command, default_toolchain, environment, require
from maxkernel_tools.errors import DeadlineError, MachineryError

_LONGEST_REPLY: Final = 4 << 20


class AuditService:
    """A running service; get one from :func:`audit_service`."""

    def __init__(self, process: Process, log: Path) -> None:
        self._process = process
        self._log = log
        if process.stdout is None or process.stdin is None:
            raise MachineryError("The audit service has no pipes.")
        self._replies = BufferedByteReceiveStream(process.stdout)
        self._requests = process.stdin

    @property
    def pid(self) -> int:
        """Process id of the service."""
        return self._process.pid

    async def ask(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send one request and return its reply.

        Raises:
            DeadlineError: no reply in time.
            MachineryError: the service died or could not do it; the message carries its words.
        """
        try:
            with anyio.fail_after(timeout_s):
                await self._requests.send((json.dumps(request) + "\n").encode())
                line = await self._replies.receive_until(b"\n", _LONGEST_REPLY)
        except TimeoutError:
            raise DeadlineError(f"The audit service did not answer within {timeout_s:.0f} s.") from None
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.IncompleteRead, anyio.ClosedResourceError):
            raise MachineryError(f"The audit service died. {self._last_words()}") from None
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise MachineryError(f"The audit service failed: {reply['error'][-2000:]}")
        return reply

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            return self._log.read_text(encoding="utf-8", errors="replace")[-1000:]
        return ""


@asynccontextmanager
async def audit_service() -> AsyncGenerator[AuditService]:
    """Start a service; leaving the context kills it.

    Raises:
        UnavailableError: jax is not installed here.
    """
    toolchain = default_toolchain()
    require(toolchain)
    with tempfile.TemporaryDirectory(prefix="jaxbench-audit-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as stderr:
            process = await anyio.open_process(
                command(toolchain, "auditing"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment(Path(folder)),
                cwd=folder,
                start_new_session=True,
            )
        try:
            yield AuditService(process, log)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                await process.aclose()
