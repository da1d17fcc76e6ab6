"""Captures made here: renames, counts, parity, noise, the size of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxkernel_tools.diffing import TraceDiff, diff_traces, full_diff
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.diffs import DiffRow
from tests.traces.captures import Call, Core, kernel, trace_events, write_trace, write_xspace

CALLS = 16
GAP = 1_000_000


def lengths(middle: int, seed: int = 0) -> list[int]:
    return [middle + (7 * (at + seed)) % 11 * 100 for at in range(CALLS)]


def program(*parts: list[Call], module: str = "jit_f(1)", runs: int = 1) -> Core:
    """Lay the calls of all parts out after each other, ``runs`` times."""
    core = Core()
    at = 0
    for _ in range(runs):
        began = at
        for call in (call for part in parts for call in part):
            core.calls.append(Call(**{**vars(call), "start": at}))
            at += call.ps
        core.modules.append((module, began, at - began))
        at += GAP
    return core


def named(name: str, middle: int, *, scope: str = "jit(f)/pallas_call", seed: int = 0) -> list[Call]:
    return kernel(name, [0] * CALLS, lengths(middle, seed), scope)


def plain(name: str, middle: int, category: str = "loop fusion", scope: str = "", source: str = "") -> list[Call]:
    return [Call(f"{name}.{at}", 0, ps, category, scope, source=source) for at, ps in enumerate(lengths(middle))]


def compare(tmp_path: Path, one: dict[int, Core], two: dict[int, Core]) -> TraceDiff:
    first = write_trace(tmp_path / "a.trace.json.gz", trace_events(one))
    second = write_trace(tmp_path / "b.trace.json.gz", trace_events(two))
    return full_diff(first, second)


def row(found: TraceDiff, name: str) -> DiffRow:
    (one,) = [one for one in found.rows if one.name == name]
    return one


def test_a_slower_kernel_is_slower_and_the_rest_is_not(tmp_path: Path) -> None:
    one = {0: program(named("k", 100_000), plain("fusion", 90_000, scope="jit(f)/add"))}
    two = {0: program(named("k", 110_000, seed=3), plain("fusion", 90_000, scope="jit(f)/add"))}
    found = compare(tmp_path, one, two)
    assert row(found, "k").verdict == "slower"
    assert row(found, "k").is_pallas
    assert row(found, "fusion").verdict == "same within noise"
    assert row(found, "k").changed == ("the cause is not visible in this trace",)
    assert found.result.contributors == ("k +0.161 us",)


def test_what_two_cores_differ_by_is_noise(tmp_path: Path) -> None:
    def both(first: int, second: int) -> dict[int, Core]:
        return {0: program(named("k", first)), 1: program(named("k", second))}

    # 3 % apart, but so are the cores.
    assert row(compare(tmp_path, both(100_000, 103_000), both(103_000, 100_000)), "k").verdict == "same within noise"
    assert row(compare(tmp_path, both(100_000, 100_100), both(103_000, 103_100)), "k").verdict == "slower"


def test_seven_calls_are_too_few(tmp_path: Path) -> None:
    one = {0: program(named("k", 100_000)[:7])}
    two = {0: program(named("k", 200_000)[:7])}
    assert row(compare(tmp_path, one, two), "k").verdict == "too few samples"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("matmul_512_1024", "matmul_256_2048"),
        ("matmul_kernel", "matmul_kernel.kd"),
        ("rpa-bq_32-p_128-", "rpa-bq_64-p_128-"),
    ],
)
def test_a_renamed_kernel_is_one_row(tmp_path: Path, before: str, after: str) -> None:
    other = plain("fusion", 300_000, scope="jit(f)/add")
    one = {0: program(named(before, 100_000, scope=f"jit(f)/{before}/pallas_call"), other)}
    two = {0: program(named(after, 100_000, scope=f"jit(f)/{after}/pallas_call"), other)}
    found = compare(tmp_path, one, two)
    assert {one.verdict for one in found.rows} == {"renamed", "same within noise"}
    renamed = row(found, before)
    assert (renamed.tier, renamed.candidate_name) == (4, after)
    faster = {0: program(named(after, 80_000, scope=f"jit(f)/{after}/pallas_call"), other)}
    assert row(compare(tmp_path, one, faster), before).verdict == "faster"


def test_scopes_that_moved_are_paired_by_shapes_then_by_source(tmp_path: Path) -> None:
    one = {0: program(named("k", 100_000, scope="old"), plain("add_fusion", 50_000, scope="old", source="m.py:3"))}
    two = {0: program(named("k", 100_000, scope="new"), plain("mul_fusion", 50_000, scope="new", source="m.py:3"))}
    found = compare(tmp_path, one, two)
    assert {one.name: one.tier for one in found.rows} == {"k": 2, "add_fusion": 3}


def test_numbers_of_instructions_never_pair(tmp_path: Path) -> None:
    one = {0: program(named("k", 900_000), [Call("fusion.7", 0, 5_000, "loop fusion", "jit(f)/add")])}
    two = {0: program(named("k", 900_000), [Call("fusion.7", 0, 5_000, "loop fusion", "jit(f)/exp")])}
    found = compare(tmp_path, one, two)
    assert sorted(one.verdict for one in found.rows) == ["added", "removed", "same within noise"]


def test_missing_scopes_still_pair_by_name_and_category(tmp_path: Path) -> None:
    one = {0: program(plain("copy-done", 50_000, "copy-done"), plain("fusion", 40_000))}
    found = compare(tmp_path, one, one)
    assert {one.tier for one in found.rows} == {1}


def test_calls_and_per_call_effects(tmp_path: Path) -> None:
    one = {0: program(named("k", 100_000), named("rest", 900_000, scope="r"))}
    two = {0: program([*named("k", 100_000), *named("k", 100_000)], named("rest", 900_000, scope="r"))}
    found = row(compare(tmp_path, one, two), "k")
    assert (found.baseline_calls, found.candidate_calls) == (CALLS, 2 * CALLS)
    assert found.calls_effect_us == found.delta_us > 0
    assert found.per_call_effect_us == 0
    assert "calls 16 and 32" in found.changed


def test_other_execution_counts_are_compared_per_run(tmp_path: Path) -> None:
    parts = named("k", 100_000)
    found = compare(tmp_path, {0: program(parts, runs=3)}, {0: program(parts, runs=5)})
    assert found.result.per_run
    assert (found.result.delta_us, found.result.module_delta_us) == (0, 0)
    assert any("3 times and 5 times" in note for note in found.result.parity)


def test_instructions_with_samples_of_their_own_stand_alone(tmp_path: Path) -> None:
    def run(second: int) -> Core:
        calls = [Call("copy-done.1", 0, 50_000, "copy-done"), Call("copy-done.2", 0, second, "copy-done")]
        return program(calls, runs=12)

    found = compare(tmp_path, {0: run(70_000)}, {0: run(90_000)})
    assert sorted(one.verdict for one in found.rows) == ["same within noise", "slower"]


def test_other_programs_are_different(tmp_path: Path) -> None:
    one = {0: program(plain("fusion", 100_000, scope="jit(f)/a", source="a.py:1"))}
    two = {0: program(plain("fusion", 100_000, "reduce", scope="jit(f)/b", source="b.py:1"))}
    result = compare(tmp_path, one, two).result
    assert (result.ok, result.comparable, result.level, result.matched_share) == (False, False, "categories", (0, 0))
    assert {one.name for one in result.rows} == {"loop fusion", "reduce"}


def test_parity_refuses_before_any_number(tmp_path: Path) -> None:
    core = program(named("k", 100_000))
    traced = Core(core.modules, core.calls, {"LLO Ops": [("vmatmul", 0, 10)]})
    hosted = Core(core.modules, [Call(**{**vars(call), "device_clock": False}) for call in core.calls])
    v6e = write_xspace(tmp_path / "v6e.xplane.pb", {0: core})
    for name, other, word in (
        ("v5e", write_xspace(tmp_path / "v5e.xplane.pb", {0: core}, kind="TPU v5 lite"), "Devices differ"),
        ("flags", write_xspace(tmp_path / "flags.xplane.pb", {0: traced}), "custom-call-tracing is off and on"),
        ("host", write_xspace(tmp_path / "host.xplane.pb", {0: hosted}), "Clocks differ: device and host"),
        ("none", write_xspace(tmp_path / "none.xplane.pb", {0: Core()}), "no ops of a TPU"),
    ):
        result = diff_traces(v6e, other)
        assert (result.comparable, result.level, result.delta_us, result.rows) == (False, "none", None, ()), name
        assert word in result.summary
    same = write_xspace(tmp_path / "spelled.xplane.pb", {0: core}, kind="TPU v6e")
    assert diff_traces(v6e, same).comparable


def test_a_core_that_is_not_there(tmp_path: Path) -> None:
    path = write_xspace(tmp_path / "a.xplane.pb", {0: program(named("k", 100_000))})
    with pytest.raises(MisuseError, match="no core 3"):
        diff_traces(path, path, core=3)


def test_many_rows_fit_and_still_sum(tmp_path: Path) -> None:
    long = "jit(step)/" + "very_long_scope/" * 20
    one = {0: program(*[plain(f"part_{at}_fusion", 10_000 + at, scope=f"{long}{at}") for at in range(200)])}
    two = {0: program(*[plain(f"part_{at}_fusion", 11_000 + at, scope=f"{long}{at}") for at in range(200)])}
    found = compare(tmp_path, one, two)
    assert len(found.rows) == found.result.rows_total == 200
    assert len(found.result.model_dump_json()) < 20_000
    assert found.result.rows[-1].name.startswith("(other ")
    assert round(sum(one.delta_us for one in found.result.rows), 6) == found.result.delta_us == 3.2
