"""The autotuner against the whole grid: as good within 3 %, with a quarter of the compiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_tools.context import CallContext, KernelCall, Workload
from maxkernel_tools.records import KernelSource, Target
from maxkernel_tools.records.tuning import TuneResult
from maxkernel_tools.tuning import autotune_kernel
from tests.profiling.test_profile_kernel import Folder, silent
from tests.tuning.kernels import CASES

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_quarter_of_the_compiles_finds_the_best(
    name: str, portal: BlockingPortal, runtime: LocalRuntime, tmp_path: Path
) -> None:
    text, inputs = CASES[name]
    context = CallContext(runtime=runtime, artifacts=Folder(tmp_path), progress=silent, run_id="r-test")
    call = KernelCall(KernelSource(text=text), Workload(inputs=inputs, label=name))

    async def tune(budget: int) -> TuneResult:
        return await autotune_kernel(call, Target.V6E, None, budget, context)

    # The default budget is at least eight; the claim is about a quarter of the space.
    space = portal.call(tune, 1).considered
    few = portal.call(tune, space // 4)
    assert few.compiles <= space / 4
    everything = portal.call(tune, space)
    assert few.best_us is not None
    assert everything.best_us is not None
    assert few.best_us <= everything.best_us * 1.03
