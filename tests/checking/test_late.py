"""A nursery that stands still: the lab says so as its own failure, not as one about the kernel, and unwrapped."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from maxkernel_lab.runtimes import nursery
from maxkernel_lab.runtimes.local import LocalRuntime
from maxkernel_tools.errors import DeadlineError
from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.runtime import TraceRequest

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

pytestmark = pytest.mark.toolchain


def test_a_nursery_that_stands_still_is_a_deadline_of_the_lab(
    portal: BlockingPortal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = (ArraySpec.parse("f32[8,128]"),)
    request = TraceRequest(KernelSource(text="def workload(x):\n    return x\n"), specs, targets=(Target.V6E,))
    with portal.wrap_async_context_manager(LocalRuntime(tmp_path)) as runtime:
        assert portal.call(runtime.trace, request).exported
        pid = runtime.processes()["nursery default"]
        monkeypatch.setattr(nursery, "_GRACE_S", 0.2)
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(DeadlineError, match="did not end a job in time"):
                portal.call(runtime.trace, TraceRequest(request.kernel, specs, targets=(Target.V6E,), timeout_s=0.2))
        finally:
            os.kill(pid, signal.SIGCONT)
