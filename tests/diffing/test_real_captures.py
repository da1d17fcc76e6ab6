"""Two captures of one model: every number forwards, backwards, against itself, core against core."""

from __future__ import annotations

from functools import cache

import pytest

from maxkernel_tools.diffing import TraceDiff, full_diff
from maxkernel_tools.records.diffs import DiffRow
from maxkernel_tools.traces import select_runs
from tests.traces.real import inference, v6e

A, B = "2026_01_12_00_26_20", "2026_01_12_01_08_50"
OPPOSITE = {"faster": "slower", "slower": "faster", "added": "removed", "removed": "added"}


@cache
def diff(baseline: str, candidate: str, core: int = 0, candidate_core: int | None = None) -> TraceDiff:
    return full_diff(inference(baseline), inference(candidate), core=core, candidate_core=candidate_core)


def row(name: str, found: TraceDiff | None = None) -> DiffRow:
    (one,) = [one for one in (found or diff(A, B)).rows if one.name == name]
    return one


def test_the_delta_and_its_parts() -> None:
    found = diff(A, B)
    result = found.result
    assert (result.ok, result.comparable, result.level) == (True, True, "ops")
    assert (result.delta_us, result.module_delta_us) == (-1943.110341, -2073.036013)
    assert round((result.delta_us or 0) + (result.idle_delta_us or 0), 6) == result.module_delta_us
    assert round(sum(one.delta_us for one in found.rows), 6) == result.delta_us
    assert round(sum(one.delta_us for one in result.rows), 6) == result.delta_us
    assert result.matched_share is not None
    assert [round(share, 3) for share in result.matched_share] == [0.975, 1.0]
    assert len(result.model_dump_json()) < 20_000


def test_the_other_core() -> None:
    assert diff(A, B, 1).result.module_delta_us == -1644.561824


def test_categories() -> None:
    found = {one.category: (one.baseline_us, one.candidate_us) for one in diff(A, B).result.categories}
    assert found["all-to-all"] == (651.460984, 0)
    assert found["reduce"] == (325.726289, 0)
    assert found["copy-done"] == (6.50175, 258.108018)
    assert found["custom-call"] == (46_047.998763, 45_653.231675)
    assert found["data formatting"] == (2_958.199254, 2_494.900369)
    assert found["loop fusion"] == (11_796.88352, 11_461.7647)
    assert found["all-reduce"] == (3_535.87155, 3_514.115245)


def test_kernels() -> None:
    changed = row("quantized_matmul_kernel_512_5120_2560")
    assert changed.verdict == "faster"
    assert changed.median_change == pytest.approx(-0.033, abs=0.0005)
    for name in ("512_6400_1024", "256_5120_4096", "1024_5120_512"):
        assert row(f"quantized_matmul_kernel_{name}").verdict == "same within noise"
    kernels = [one for one in diff(A, B).rows if one.is_pallas]
    assert {(one.baseline_calls, one.candidate_calls, one.tier) for one in kernels} == {(64, 64, 1)}
    assert {one.name for one in kernels} <= {one.name for one in diff(A, B).result.rows}


def test_the_bimodal_kernel() -> None:
    attention = row("RPA-bq_32-bkvp_32-p_128-")
    assert (attention.baseline_us, attention.candidate_us) == (20_852.806722, 20_539.642257)
    assert attention.verdict == "faster"
    assert attention.median_change == pytest.approx(-0.00095, abs=5e-6)
    assert attention.mean_change == pytest.approx(-0.01502, abs=5e-6)
    assert attention.bimodal is not None
    assert attention.bimodal.startswith("candidate: calls 2-19, 49-50 ")
    assert attention.bimodal.endswith("the same calls on every core")


def test_a_difference_of_parameters_is_told_first() -> None:
    assert diff(A, B).result.parity[0].startswith("Parameters of jit_step_fun differ")


@pytest.mark.parametrize("core", [0, 1])
def test_backwards_flips_every_sign(core: int) -> None:
    forwards, backwards = diff(A, B, core), diff(B, A, core)
    for name in ("delta_us", "module_delta_us", "idle_delta_us"):
        assert getattr(forwards.result, name) == -getattr(backwards.result, name)
    mine = [
        (one.name, one.category, one.scope, one.delta_us, one.calls_effect_us, one.verdict) for one in forwards.rows
    ]
    theirs = [
        (one.name, one.category, one.scope, -one.delta_us, -one.calls_effect_us, OPPOSITE.get(one.verdict, one.verdict))
        for one in backwards.rows
    ]
    assert sorted(mine) == sorted(theirs)


def test_against_itself_all_is_zero() -> None:
    found = diff(A, A)
    assert (found.result.delta_us, found.result.module_delta_us, found.result.idle_delta_us) == (0, 0, 0)
    assert {one.delta_us for one in found.rows} == {0}
    assert {one.verdict for one in found.rows} == {"same within noise", "too few samples"}
    assert found.result.matched_share == (1, 1)


def test_core_against_core_claims_nothing() -> None:
    found = diff(A, A, 0, 1)
    assert found.result.delta_us == -2.968694
    assert {one.verdict for one in found.rows} == {"same within noise", "too few samples"}
    assert "No row changed beyond noise" in found.result.summary


@pytest.mark.parametrize("core", range(4))
def test_first_half_against_second_half(core: int) -> None:
    profile = v6e()
    found = full_diff(select_runs(profile, "jit_f", 0, 50), select_runs(profile, "jit_f", 50, 100), core=core)
    assert {one.verdict for one in found.rows} == {"same within noise"}
    assert {one.baseline_calls for one in found.rows} == {50}


def test_other_programs_are_called_different() -> None:
    result = full_diff(inference(A), v6e()).result
    assert (result.ok, result.comparable, result.level) == (False, False, "categories")
    assert "programs differ" in result.parity[0]
    assert round(sum(one.delta_us for one in result.rows), 5) == pytest.approx(result.delta_us)
