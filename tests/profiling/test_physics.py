"""A time no right program can reach is refused; one that only a clever program can reach is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import BlockingPortal

from jaxbench import task_roots
from maxkernel_tools.chips import roofline_us
from maxkernel_tools.context import CallContext, KernelCall, Workload
from maxkernel_tools.profiling import profile_kernel
from maxkernel_tools.profiling.physics import below_floor, floor_us
from maxkernel_tools.records.findings import FindingCode, Severity
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.tasks import TaskCatalog, flops, hbm_bytes, input_specs, least_flops, least_hbm_bytes
from tests.profiling.test_profile_kernel import Folder, silent

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime

CATALOG = TaskCatalog(task_roots())
TASKS = CATALOG.list()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.facts.id)
def test_the_floor_never_lies_above_the_roofline_of_the_plain_formula(task) -> None:
    facts = task.facts
    assert 0 < least_flops(facts) <= flops(facts)
    assert 0 < least_hbm_bytes(facts) <= hbm_bytes(facts)
    for target in Target:
        assert floor_us(facts, target) <= roofline_us(target, flops(facts), hbm_bytes(facts), facts.dtype)


@pytest.mark.parametrize(
    ("task", "share"),
    [
        ("21k", 0.2),  # the matmul folded into a mat-vec: bytes are all that is left
        ("15p", 0.5),  # the chunked form of retention
        ("1p", 0.5),  # causal: half the square
        ("26k", 0.1),  # its matmul is dead
    ],
)
def test_a_rewrite_that_needs_less_is_not_refused(task: str, share: float) -> None:
    facts = CATALOG.find(task).facts
    plain = roofline_us(Target.V6E, flops(facts), hbm_bytes(facts), facts.dtype)
    assert below_floor(facts, Target.V6E, share * plain, "device") is None


def test_a_time_below_what_is_possible_is_an_error_that_says_by_how_much() -> None:
    facts = CATALOG.find("8p_GEMM").facts
    plain = roofline_us(Target.V6E, flops(facts), hbm_bytes(facts), facts.dtype)
    assert below_floor(facts, Target.V6E, 0.9 * plain, "device") is None  # Strassen's algorithm could
    finding = below_floor(facts, Target.V6E, 0.5 * plain, "device")
    assert finding is not None
    assert finding.code is FindingCode.INTEGRITY_BELOW_ROOFLINE
    assert finding.severity is Severity.ERROR
    assert f"{0.5 * plain:.2f} µs (device)" in finding.message


ZEROS = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def fill(o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)


def workload(x, weight):
    rows = x.shape[1]
    return pl.pallas_call(
        fill,
        grid=(x.shape[0], rows // 256),
        out_specs=pl.BlockSpec((1, 256, x.shape[2]), lambda i, j: (i, j, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )()
"""


@pytest.mark.toolchain
def test_a_kernel_that_skips_the_work_is_refused_by_its_time(
    portal: BlockingPortal, runtime: LocalRuntime, tmp_path: Path
) -> None:
    task = CATALOG.find("12p")
    specs = input_specs(task.facts, task.facts.dims, task.facts.dtype)
    workload = Workload(inputs=specs, label=task.facts.id, task=task, reference=task.reference)
    call = KernelCall(kernel=KernelSource(text=ZEROS), workload=workload, params={})
    context = CallContext(runtime=runtime, artifacts=Folder(tmp_path), progress=silent, run_id="r-test")
    result = portal.call(profile_kernel, call, Target.V6E, "none", context)
    assert result.ok is False
    assert result.findings[0].code is FindingCode.INTEGRITY_BELOW_ROOFLINE
