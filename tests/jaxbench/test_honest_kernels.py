"""The grader refuses nobody for rounding better: a version that keeps f32 inside passes, at the task's own dtype.

Here a few tasks through ``test_kernel`` itself; every task, by the same comparison, in the audit.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import BlockingPortal

from jaxbench import task_roots
from maxkernel_tools.checking import test_kernel as judge
from maxkernel_tools.context import CallContext, KernelCall, Workload
from maxkernel_tools.records import KernelSource, Target
from maxkernel_tools.tasks import TaskCatalog, input_specs
from tests.profiling.test_profile_kernel import Folder, silent

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime

pytestmark = pytest.mark.toolchain

CATALOG = TaskCatalog(task_roots())
WIDE = """

from jax.experimental import pallas as pl

_narrow = workload


def workload(*inputs):
    shape = jax.eval_shape(_narrow, *inputs)

    def kernel(*refs):
        *ins, out = refs
        whole = [ref[...] for ref in ins]
        wide = [x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x for x in whole]
        out[...] = _narrow(*wide).astype(out.dtype)

    return pl.pallas_call(kernel, out_shape=shape)(*inputs)
"""


@pytest.mark.parametrize("name", ["12p", "14p", "38k"])
def test_a_version_that_keeps_f32_inside_passes(
    portal: BlockingPortal, runtime: LocalRuntime, tmp_path: Path, name: str
) -> None:
    task = CATALOG.find(name)
    facts = task.facts
    workload = Workload(
        inputs=input_specs(facts, facts.dims, facts.dtype), label=facts.id, task=task, reference=task.reference
    )
    call = KernelCall(kernel=KernelSource(text=task.reference.text + WIDE), workload=workload, params={})
    context = CallContext(runtime=runtime, artifacts=Folder(tmp_path), progress=silent, run_id="r-test")

    async def run():
        return await judge(call, "quick", context, target=Target.V6E)

    result = portal.call(run)
    assert result.verdict == "correct", result.summary
