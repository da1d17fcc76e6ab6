"""Running schedules: stored ones against what they are known to move, written ones against arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxkernel_tools.schedule.bundles import parse_bundles
from maxkernel_tools.schedule.dumps import DumpFolder
from maxkernel_tools.schedule.engine import Clockwork
from maxkernel_tools.schedule.machine import Machine, Run
from tests.schedule.samples import PALLAS_GEMM, PALLAS_GEMM_012, RMSNORM

MIB = 1024 * 1024


def fast() -> Clockwork:
    """A clock whose transfers take no time."""
    return Clockwork(bytes_per_cycle=1e18, latency_cycles=0.0, local_bytes_per_cycle=1e18)


def listing_of(bodies: list[str], regions: dict[int, str]) -> str:
    """Write a schedule: one body a bundle, region marks by bundle."""
    lines = [
        f"{'0' if at == 0 else hex(at)} {'LB' if 'Start region 9' in regions.get(at, '') else ''} : > {{ {body} }}"
        + (f" /* {regions[at]} */" if at in regions else "")
        for at, body in enumerate(bodies)
    ]
    return "\n".join(lines) + "\n"


def counted_loop(trips: int, step: int = 1) -> Run:
    """Run a loop of 8 bundles ``trips`` times, with a transfer in every second pass."""
    bodies = [
        "%s1_s1 = smov 0",
        "%s2_s1 = sphi %s1_s1, %s3_s1  ;;  %s9_s4 = sand.u32 1, %s2_s1  ;;  %s20_s5 = smov [#allocation3]",
        f"%p5_p0 = scmp.eq.s32.totalorder %s9_s4, 0  ;;  %s3_s1 = sadd.s32 {step}, %s2_s1",
        "%30 = dma.hbm_to_vmem (%p5_p0), /*hbm=*/%s8_s8, /*size_in_granules=*/64, /*vmem=*/%s7_s7, /*flag=*/%s20_s5",
        f"%p6_p1 = scmp.ge.s32.totalorder %s3_s1, {trips * step}",
        "%40 = sbr.rel (!%p6_p1) target = $region9",
        "",
        "%31 = dma.done.wait (%p5_p0), %s20_s5, 64",
        "",
        "",
        "",
    ]
    return Machine(parse_bundles(listing_of(bodies, {1: "Start region 9"}))).run(fast())


@pytest.mark.parametrize("sample", [PALLAS_GEMM, PALLAS_GEMM_012])
def test_pallas_gemm_moves_what_its_grid_says(sample: Path) -> None:
    machine = Machine(parse_bundles(DumpFolder.open(sample).text("workload.1", "final_bundles")))
    run = machine.run(fast())
    assert run.read_bytes == 2 * 4 * 2048 * 2048 * 2
    assert run.write_bytes == 2048 * 2048 * 2
    assert not run.unknown_branches
    assert not run.truncated
    # 64 grid steps behind a prologue of one and an epilogue of one; init and store run in 16 of them.
    counts = {first: count for (first, _), count in run.counts.items()}
    assert sorted(set(counts.values())) == [1, 16, 64, 66]


def test_five_deep_pipeline_of_a_fusion() -> None:
    machine = Machine(parse_bundles(DumpFolder.open(RMSNORM).text("fusion.2", "final_bundles")))
    run = machine.run(fast())
    assert run.read_bytes == run.write_bytes == 8 * 4096 * 8192 * 2


def test_transfers_set_the_pace_when_bandwidth_is_scarce() -> None:
    machine = Machine(parse_bundles(DumpFolder.open(RMSNORM).text("fusion.2", "final_bundles")))
    free = machine.run(fast()).cycles
    scarce = machine.run(Clockwork(bytes_per_cycle=100.0, latency_cycles=0.0, local_bytes_per_cycle=1e18))
    moved = 2 * 8 * 4096 * 8192 * 2
    assert scarce.cycles == pytest.approx(moved / 100.0, rel=0.02)
    assert scarce.cycles > free
    assert sum(scarce.waits.values()) == pytest.approx(scarce.cycles - scarce.issue_cycles, rel=0.01)


@given(trips=st.integers(1, 300), step=st.integers(1, 7))
def test_a_loop_runs_as_often_as_its_counter_says(trips: int, step: int) -> None:
    run = counted_loop(trips, step)
    assert run.counts[1, 10] == trips
    even = sum((at * step) % 2 == 0 for at in range(trips))
    assert run.transfers[3] == (even, even * 64 * 32)
    assert run.cycles == run.issue_cycles == 1 + 9 * trips + 1


def test_a_run_cut_short_is_extrapolated() -> None:
    machine = Machine(parse_bundles(DumpFolder.open(PALLAS_GEMM).text("workload.1", "final_bundles")))
    whole = machine.run(fast())
    part = machine.run(fast(), budget=3000, expected_trips=66)
    assert part.truncated
    assert part.cycles == pytest.approx(whole.cycles, rel=0.15)
    assert part.read_bytes == pytest.approx(whole.read_bytes, rel=0.1)


def test_a_branch_on_data_is_reported() -> None:
    bodies = ["%s1_s1 = sld [smem:[#allocation1]]", "%p1_p0 = scmp.eq.s32.totalorder %s1_s1, 3", *[""] * 8]
    bodies[2] = "%40 = sbr.rel (%p1_p0) target = $region9"
    run = Machine(parse_bundles(listing_of(bodies, {8: "Start region 9"}))).run(fast())
    assert run.unknown_branches == {2}
    assert run.cycles == len(bodies)
