"""Plots are well-formed SVG that says what it shows."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from maxkernel_tools.chips import chip
from maxkernel_tools.profiling import analyse
from maxkernel_tools.profiling.plots import roofline_svg, unit_use_svg, vmem_svg
from maxkernel_tools.records import Target
from tests.schedule.samples import PALLAS_GEMM, RMSNORM


@pytest.mark.parametrize(("sample", "op"), [(PALLAS_GEMM, "workload.1"), (RMSNORM, "fusion.2")])
def test_plots_of_stored_schedules(sample: Path, op: str) -> None:
    made = analyse(sample, "", {"flops_inside": 2 * 2048**3}, Target.V6E)
    hardware = chip(Target.V6E)
    pages = [
        roofline_svg(made.profile, hardware),
        unit_use_svg(op, made.tallies[op]),
        vmem_svg(op, made.vmem[op], hardware, hardware.scoped_vmem_bytes),
    ]
    for page in pages:
        assert page is not None
        ElementTree.fromstring(page)  # noqa: S314 - our own text
        assert len(page) < 300_000
    assert "not measured" in (pages[0] or "")
    assert "MXU" in (pages[1] or "")


def test_no_roofline_without_flops() -> None:
    made = analyse(RMSNORM, "", {}, Target.V6E)
    assert roofline_svg(made.profile, chip(Target.V6E)) is None


def test_regions_add_up_to_the_op() -> None:
    made = analyse(PALLAS_GEMM, "", {}, Target.V6E)
    regions = made.profile.regions
    assert sum(region.time_us for region in regions) == pytest.approx(made.profile.ops[0].time_us, rel=0.02)
    assert regions[0].share > 0.3
    assert any("64 times" in region.name for region in regions)
