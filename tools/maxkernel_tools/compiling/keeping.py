"""Keeps what a compile left: exported module, optimised HLO, compiler messages, the final schedule within a budget."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Final

import anyio.to_thread

from maxkernel_tools.compiling.listings import listings
from maxkernel_tools.compiling.vmem_map import VmemMap
from maxkernel_tools.context import CallContext
from maxkernel_tools.runtime import CompileReply, RawError

SCHEDULE_BUDGET_BYTES: Final = 8 << 20
"""Larger dumps stay in the compile cache only."""
_MESSAGE_WORTH_KEEPING: Final = 600


async def keep_message(context: CallContext, label: str, error: RawError | None, crash_log: str) -> None:
    """Keep the compiler's words whole, where a finding shortens them."""
    text = "\n\n".join(part for part in ((error.message if error else ""), crash_log) if part)
    if error is not None and len(error.message) <= _MESSAGE_WORTH_KEEPING and not crash_log:
        return
    if text:
        await context.artifacts.put(f"compiler-message-{label}.txt", "compiler-message", text)


async def keep_compiled(
    context: CallContext, label: str, exported: bytes, reply: CompileReply, measured: VmemMap | None
) -> None:
    """Keep the exported module, the HLO, the VMEM map, and of the dumps listings and, within the budget, the files."""
    await context.artifacts.put(f"exported-{label}.bin", "exported-module", exported)
    if reply.hlo_text:
        await context.artifacts.put(f"optimized-hlo-{label}.txt", "optimized-hlo", reply.hlo_text)
    if measured is not None and measured.allocations:
        await context.artifacts.put(f"vmem-map-{label}.tsv", "vmem-map", measured.as_text())
    folder = reply.dump_dir
    if folder is None:
        return
    for kind, text in (await anyio.to_thread.run_sync(listings, folder)).items():
        await context.artifacts.put(f"{kind}-{label}.txt", kind, text)
    files = await anyio.to_thread.run_sync(_files, folder)
    if files and sum(size for _, size in files) <= SCHEDULE_BUDGET_BYTES:
        packed = await anyio.to_thread.run_sync(_packed, folder, [path for path, _ in files])
        await context.artifacts.put(f"schedule-{label}.tar", "schedule", packed)


def _files(folder: Path) -> list[tuple[Path, int]]:
    return [(path, path.stat().st_size) for path in sorted(folder.iterdir()) if path.is_file()]


def _packed(folder: Path, files: list[Path]) -> bytes:
    # The dumps are gzip files already: a plain archive, without times and owners, so that content addressing works.
    with tempfile.SpooledTemporaryFile(max_size=SCHEDULE_BUDGET_BYTES * 2) as spool:
        with tarfile.open(fileobj=spool, mode="w") as archive:
            for path in files:
                entry = tarfile.TarInfo(str(path.relative_to(folder)))
                entry.size = path.stat().st_size
                with path.open("rb") as content:
                    archive.addfile(entry, content)
        spool.seek(0)
        return spool.read()
