"""The documentation index of the installed packages: made by a worker when first asked for, kept under the lab's home.

Its file is named after what it holds, so another version of jax, or of the guide, gets another file.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import structlog

from maxkernel_lab.home import Home
from maxkernel_lab.platforms import find_compiler
from maxkernel_lab.runtimes.environment import command, default_toolchain, environment
from maxkernel_lab.supervision.processes import Supervised
from maxkernel_tools.docs import build_index, index_name
from maxkernel_tools.errors import DeadlineError, MachineryError
from maxkernel_tools.records.docs import ApiEntry

_READ_S: Final = 120.0
_KEPT: Final = 4
_logger = structlog.get_logger(__name__)


async def documentation_index(home: Home) -> Path:
    """Return the index, made now where there is none yet.

    Without jax on this machine it holds the guide alone.

    Raises:
        MachineryError: the worker failed, or the file cannot be written.
    """
    toolchain = default_toolchain()
    has_jax = find_compiler().available
    versions = {name: toolchain.versions[name] for name in ("jax", "jaxlib", "libtpu")} if has_jax else {}
    path = home.cache / index_name(versions)
    if await anyio.to_thread.run_sync(path.is_file):
        return path
    entries = await _read_installed(home) if has_jax else []
    try:
        await anyio.to_thread.run_sync(build_index, path, entries, versions)
        await anyio.to_thread.run_sync(_drop_old, home.cache, path)
    except OSError as error:
        raise MachineryError(f"The documentation index cannot be written: {error}.") from error
    _logger.info("documentation_indexed", entries=len(entries), versions=versions)
    return path


async def _read_installed(home: Home) -> list[ApiEntry]:
    """Return what a worker of its own reads in the installed jax; it is gone when this returns, however it returns."""
    with tempfile.TemporaryDirectory(prefix="docs-", dir=home.cache) as name:
        folder = Path(name)
        out = folder / "entries.jsonl"
        line = command(default_toolchain(), "documenting", "--out", str(out), "--parent", str(os.getpid()))
        process = await Supervised.start(line, environment(folder), [], folder)
        code: int | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(process.drain)
                with anyio.move_on_after(_READ_S):
                    code = await process.wait()
                tasks.cancel_scope.cancel()
        finally:
            process.kill()
        if code is None:
            raise DeadlineError(f"Reading the installed documentation took over {_READ_S:.0f} s.")
        if code != 0:
            raise MachineryError(f"Reading the installed documentation failed: {process.stderr_since()[-1000:]}")
        return await anyio.to_thread.run_sync(_parsed, out)


def _parsed(path: Path) -> list[ApiEntry]:
    with path.open(encoding="utf-8") as stream:
        return [ApiEntry.model_validate_json(line) for line in stream]


def _drop_old(folder: Path, newest: Path) -> None:
    """Keep a few indexes: several versions of jax may be in use side by side."""
    others = [path for path in folder.glob("docs-*.sqlite3") if path != newest]
    for path in sorted(others, key=lambda path: path.stat().st_mtime)[: -_KEPT or None]:
        path.unlink(missing_ok=True)
