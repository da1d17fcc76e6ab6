"""Runs one comparison of captures in a child: memory, time, progress and cancellation are held from here."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import structlog

from maxkernel_lab.home import Home
from maxkernel_lab.runtimes.environment import command, default_toolchain, environment
from maxkernel_lab.supervision.processes import Supervised
from maxkernel_tools.context import Progress
from maxkernel_tools.errors import DeadlineError, MachineryError, MisuseError

_GONE_S: Final = 5.0
_DEADLINE_S: Final = 900.0
_POLL_S: Final = 0.3
_OUT_OF_MEMORY: Final = 12
_logger = structlog.get_logger(__name__)


@asynccontextmanager
async def compared_files(
    request: Mapping[str, Any], home: Home, memory_bytes: int, progress: Progress
) -> AsyncGenerator[Path]:
    """Compare two captures; the folder with the answer is there for the length of the context.

    Args:
        request: ``baseline``, ``candidate``, ``core``, ``candidate_core``, ``target``.
        home: the lab's folders.
        memory_bytes: what the child may hold.
        progress: told how far it is.

    Raises:
        MisuseError: the captures cannot be read, or are too large for the memory allowed.
        MachineryError: the child failed; DeadlineError: it took too long.
    """
    with tempfile.TemporaryDirectory(prefix="diff-", dir=home.cache) as name:
        folder = Path(name)
        out = folder / "out"
        out.mkdir()
        code, said = await _run(_line(request, out, memory_bytes), folder, out, progress)
        refusal = out / "refused.json"
        if refusal.is_file():
            words = json.loads(refusal.read_text(encoding="utf-8"))
            raise MisuseError(words["given"], allowed=words["allowed"], action=words["action"])
        if code == _OUT_OF_MEMORY:
            raise MisuseError(
                f"Comparing these captures takes more than {memory_bytes >> 20} MiB of memory.",
                allowed="captures this lab has memory for (pool.memory_mb in maxkernel.toml).",
                action="Capture fewer steps, or allow more memory.",
            )
        if code != 0:
            _logger.warning("diff_failed", code=code, stderr=said[-2000:])
            raise MachineryError(f"The comparison ended with code {code}: {said.strip()[-300:]}")
        yield out


def _line(request: Mapping[str, Any], out: Path, memory_bytes: int) -> list[str]:
    return command(
        default_toolchain(),
        "diffing",
        "--request",
        json.dumps(dict(request)),
        "--out",
        str(out),
        "--parent",
        str(os.getpid()),
        "--memory-bytes",
        str(memory_bytes),
    )


async def _run(line: list[str], folder: Path, out: Path, progress: Progress) -> tuple[int, str]:
    process = await Supervised.start(line, environment(folder), [], folder)
    code: int | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(process.drain)
            tasks.start_soon(_watch, out / "progress", progress)
            with anyio.move_on_after(_DEADLINE_S):
                code = await process.wait()
            tasks.cancel_scope.cancel()
    finally:
        process.kill()
        # Its folder is removed next, which fails under a process that still writes into it.
        await process.gone(_GONE_S)
    if code is None:
        raise DeadlineError(f"Comparing the captures took over {_DEADLINE_S:.0f} s.")
    return code, process.stderr_since()


async def _watch(file: Path, progress: Progress) -> None:
    """Pass on what the child says about its progress, when it changes."""
    last = ""
    while True:
        try:
            text = await anyio.to_thread.run_sync(file.read_text)
        except FileNotFoundError:
            text = last
        if text != last:
            done, message = json.loads(text)
            await progress(float(done), 1.0, str(message))
            last = text
        await anyio.sleep(_POLL_S)
