"""A lab in a process of its own, for tests that kill it: opens a runtime, runs an endless kernel, prints the pids."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio

from maxkernel_lab.runtimes.local import LocalRuntime
from maxkernel_tools.records import ArraySpec, KernelSource
from maxkernel_tools.runtime import TraceRequest


async def main(home: Path) -> None:
    """Run until killed."""
    async with LocalRuntime(home) as runtime:
        await runtime.warm()
        sys.stdout.write(json.dumps(runtime.processes()) + "\n")
        sys.stdout.flush()
        endless = TraceRequest(
            kernel=KernelSource(text="while True: pass"), inputs=(ArraySpec.parse("f32[8]"),), timeout_s=100.0
        )
        await runtime.trace(endless)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
