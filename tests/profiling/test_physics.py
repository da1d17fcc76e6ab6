"""A time no right program can reach is refused; one that only a clever program can reach is not."""

from __future__ import annotations

import pytest

from jaxbench import task_roots
from maxkernel_tools.chips import roofline_us
from maxkernel_tools.profiling.physics import below_floor, floor_us
from maxkernel_tools.records.findings import FindingCode, Severity
from maxkernel_tools.records.targets import Target
from maxkernel_tools.tasks import TaskCatalog, flops, hbm_bytes, least_flops, least_hbm_bytes

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
