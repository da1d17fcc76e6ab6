"""Starts an orchestrator as a child of this process, with an MCP connection to this very lab on a private socket."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from maxkernel_lab.jobs.folder import JobFolder
from maxkernel_tools.errors import MachineryError

if TYPE_CHECKING:
    from maxkernel_lab.supervision.processes import Supervised

PROGRAM: Final = "maxkernel_orchestrators"
Connect = Callable[[socket.socket], Coroutine[Any, Any, None]]
"""``await connect(sock)`` serves the lab's tools on a non-blocking socket until the other side closes it."""


class ChildOrchestrators:
    """The ``Launcher`` of a server: one process per job, which dies with the server.

    Args:
        connect: the face's way to serve this lab on a socket.
        environment: what the orchestrator gets; model providers' keys are in the user's own environment.
        program: the Python module to run.
    """

    def __init__(self, connect: Connect, environment: Mapping[str, str], *, program: str = PROGRAM) -> None:
        self._connect = connect
        self._environment = dict(environment)
        self._program = program

    async def run(self, folder: Path) -> int:
        """See ``Launcher.run``.

        Raises:
            MachineryError: the process cannot be started.
        """
        from maxkernel_lab.supervision import sockets  # noqa: PLC0415 - only a lab that starts one needs it
        from maxkernel_lab.supervision.processes import Supervised  # noqa: PLC0415 - likewise

        ours, theirs = sockets.pair()
        command = [
            sys.executable,
            "-P",
            "-m",
            "maxkernel_lab.jobs.leash",
            str(os.getpid()),
            sys.executable,
            "-P",
            "-m",
            self._program,
        ]
        command += ["--job-dir", str(folder), "--mcp-fd", str(theirs.fileno())]
        with ours:
            try:
                with theirs:
                    process = await Supervised.start(command, self._environment, [theirs.fileno()], folder)
            except OSError as error:
                raise MachineryError(f"{command[0]} cannot be started: {error}.") from error
            return await self._stay(process, ours, folder)

    async def _stay(self, process: Supervised, ours: socket.socket, folder: Path) -> int:
        code = 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(process.drain)
                tasks.start_soon(self._connect, ours)
                code = await process.wait()
                tasks.cancel_scope.cancel()
        finally:
            process.kill()
            if code:
                # All there is when it dies early; the journal holds the rest.
                JobFolder(folder).note_last_words(process.stderr_since())
        return code
