"""The model on stored dumps: bounds, floors, intervals, and what it must never do."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from maxkernel_tools.chips import chip, chip_sources, roofline_us
from maxkernel_tools.profiling import UnknownFormatError, estimate
from maxkernel_tools.profiling.comparison import speedup
from maxkernel_tools.records.targets import Target
from tests.schedule.samples import PALLAS_GEMM, PALLAS_GEMM_012, RMSNORM

FLOPS = 2 * 2048**3


@pytest.mark.parametrize(("sample", "line"), [(PALLAS_GEMM, 18), (PALLAS_GEMM_012, 26)])
def test_pallas_gemm_waits_for_its_small_blocks(sample: Path, line: int) -> None:
    profile = estimate(sample, "", {"flops_inside": FLOPS, "flops_outside": 0}, Target.V6E)
    assert profile.time_source == "schedule-model"
    assert profile.bound_by == "dma-in"
    assert profile.hbm_bytes == 2 * 4 * 2048 * 2048 * 2 + 2048 * 2048 * 2
    assert profile.flops == FLOPS
    low, high = profile.interval_us
    assert low < profile.time_us < high
    assert profile.compute_floor_us is not None
    assert profile.transfer_floor_us is not None
    assert profile.time_us > max(profile.compute_floor_us, profile.transfer_floor_us)
    assert profile.ops[0].line == line


def test_rmsnorm_is_bound_by_hbm() -> None:
    profile = estimate(RMSNORM, "", {}, Target.V6E)
    assert profile.bound_by.startswith("dma")
    assert profile.units.dma > 0.9
    # Two reads and a write of the whole array.
    assert profile.hbm_bytes == pytest.approx(3 * 8 * 4096 * 8192 * 2, rel=1e-3)
    assert profile.flops is None


@pytest.mark.parametrize("sample", [PALLAS_GEMM, PALLAS_GEMM_012, RMSNORM])
def test_no_time_lies_under_its_roofline(sample: Path) -> None:
    for flops in (0, FLOPS, 1000 * FLOPS):
        profile = estimate(sample, "", {"flops_inside": flops}, Target.V6E)
        assert profile.roofline_us is not None
        assert profile.time_us >= profile.roofline_us
        assert profile.interval_us[0] >= profile.roofline_us


def test_missing_schedules_are_said_and_widen_the_interval(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    shutil.copytree(RMSNORM, folder)
    whole = estimate(folder, "", {}, Target.V6E)
    for path in folder.glob("add_rsqrt*"):
        path.unlink()
    part = estimate(folder, "", {}, Target.V6E)
    assert any("add_rsqrt_fusion" in note for note in part.notes)
    assert part.interval_us[1] / part.time_us > whole.interval_us[1] / whole.time_us


def test_an_empty_folder_is_no_schedule(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError, match="top level"):
        estimate(tmp_path, "", {}, Target.V6E)


def test_a_side_against_itself_is_no_speedup() -> None:
    profile = estimate(RMSNORM, "", {}, Target.V6E)
    ratio = speedup(profile, profile, "itself")
    assert ratio.value == 1.0
    assert ratio.low < 1 < ratio.high
    assert not ratio.significant


def test_profiles_are_quick() -> None:
    started = time.process_time()
    estimate(PALLAS_GEMM, "", {}, Target.V6E)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize("target", list(Target))
def test_every_figure_of_every_chip_has_a_source(target: Target) -> None:
    facts = chip(target)
    assert all(facts.sources.values())
    assert facts.hbm_achievable_bytes_per_s < facts.hbm_bytes_per_s
    assert facts.scoped_vmem_bytes <= facts.vmem_bytes
    # The clock follows from the peak: flops per cycle must be a whole number of MXU rows.
    per_cycle = facts.peak_flops["bf16"] / facts.cores / facts.clock_hz / (2 * facts.mxu_count * facts.mxu_size**2)
    assert per_cycle == pytest.approx(round(per_cycle), rel=0.01)
    assert set(chip_sources()) >= {"cloud", "jax", "derived"}


def test_rooflines() -> None:
    assert roofline_us(Target.V6E, 918e12, 0) == pytest.approx(1e6)
    assert roofline_us(Target.V6E, 0, 1.64e12) == pytest.approx(1e6)
    assert roofline_us(Target.V6E, 1836e12, 0, "s8") == pytest.approx(1e6)
