"""Readers on captures made here: clocks, lanes inside kernels, caps, damage."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.traces import find_capture, read_profile, tracejson
from maxkernel_tools.traces.names import base_name, split_module
from maxkernel_tools.traces.profile import OUTSIDE
from maxkernel_tools.traces.reading import normalise
from maxkernel_tools.traces.xspace import parse_space
from tests.traces.captures import Call, Core, kernel, trace_events, write_trace, write_xspace


def small() -> dict[int, Core]:
    calls = [
        Call("while.1", 1_000, 5_000, "while"),
        Call("fusion.1", 1_000, 2_000, scope="jit(f)/add", warp=700),
        Call("fusion.2", 3_000, 2_000),
        Call("köpie.3", 7_000, 0, "data formatting"),
        *kernel("my_kernel", [8_000, 9_000], [500, 600]),
    ]
    return {0: Core([("jit_f(77)", 500, 10_000)], calls)}


@pytest.fixture(params=["json", "xspace"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "json":
        return write_trace(tmp_path / "a.trace.json.gz", trace_events(small()))
    return write_xspace(tmp_path / "a.xplane.pb", small())


def test_both_formats_say_the_same(path: Path) -> None:
    profile = read_profile(path)
    times = {op.name: (op.self_ps, op.total_ps) for op in profile.ops}
    assert times["while.1"] == (1_000, 5_000)
    assert times["fusion.1"] == (2_000, 2_000)
    assert times["köpie.3"] == (0, 0)
    assert profile.clock == "device"
    assert profile.ops_ps(0) == 6_100
    (module,) = profile.modules
    assert (module.name, module.program_id, module.runs) == ("jit_f", "77", 1)
    assert module.ps == 6_100 + module.idle_ps
    assert [op.scope for op in profile.ops if op.name == "fusion.1"] == ["jit(f)/add"]


def test_a_missing_device_clock_is_said(tmp_path: Path) -> None:
    cores = small()
    cores[0].calls[1].device_clock = False
    profile = read_profile(write_trace(tmp_path / "a.trace.json.gz", trace_events(cores)))
    assert profile.clock == "host"
    assert "1 of 6 ops lack device_duration_ps" in profile.capture.warnings[0]


def test_lanes_inside_kernels_stay_apart(tmp_path: Path) -> None:
    cores = small()
    cores[0].lanes = {
        "LLO Ops": [("vmatmul", 8_000, 100), ("vmatmul", 8_100, 100)],
        "Pallas Primitives": [("ep_wait_in", 8_000, 400)],
        "XLA TraceMe": [("barrier-cores", 500, 400)],
        "Async XLA Ops": [("copy-start", 500, 9_000)],
    }
    for file in (
        write_trace(tmp_path / "a.trace.json.gz", trace_events(cores)),
        write_xspace(tmp_path / "a.xplane.pb", cores),
    ):
        profile = read_profile(file)
        assert profile.ops_ps(0) == 6_100
        assert {(region.line, region.name, region.calls, region.total_ps) for region in profile.regions} == {
            ("LLO Ops", "vmatmul", 2, 200),
            ("Pallas Primitives", "ep_wait_in", 1, 400),
        }
        assert profile.capture.flags["custom-call-tracing"] == "on"


def test_ops_outside_modules_are_kept(tmp_path: Path) -> None:
    cores = small()
    cores[0].calls.append(Call("stray", 50_000, 10))
    profile = read_profile(write_trace(tmp_path / "a.trace.json.gz", trace_events(cores)))
    assert [(module.ps, module.idle_ps) for module in profile.modules if module.name == OUTSIDE] == [(10, 0)]
    assert profile.ops_ps(0) == 6_110


def test_a_capped_json_has_no_totals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = trace_events(small())
    file = write_trace(tmp_path / "a.trace.json.gz", events)
    assert tracejson.MAX_EVENTS == 900_000
    monkeypatch.setattr(tracejson, "MAX_EVENTS", len(events))
    profile = read_profile(file)
    assert profile.capture.truncated
    assert profile.ops_ps(0) is None
    assert profile.modules_ps(0) is None
    assert "xplane.pb" in profile.capture.warnings[0]
    monkeypatch.setattr(tracejson, "MAX_EVENTS", len(events) + 1)
    assert not read_profile(file).capture.truncated


def test_flops_above_the_peak_are_not_trusted(tmp_path: Path) -> None:
    hlo = '%k = f32[8,128]{1,0} custom-call(), custom_call_target="tpu_custom_call"'
    cores = {0: Core([("jit_f(1)", 0, 10_000_000)])}
    for name, flops in (("honest", 900_000_000), ("wrong", 1_000_000_000), ("silent", 0)):
        start = len(cores[0].calls) * 1_000_000
        cores[0].calls.append(Call(name, start, 1_000_000, "custom-call", "f/pallas_call", hlo, flops=flops))
    profile = read_profile(write_xspace(tmp_path / "a.xplane.pb", cores, peak_tflops=918.0))
    assert {op.name: (op.trusted, op.flops_origin) for op in profile.ops} == {
        "honest": (True, "cost-estimate"),
        "wrong": (False, "cost-estimate"),
        "silent": (True, "none"),
    }
    assert any("wrong" in warning for warning in profile.capture.warnings)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    cores = {0: Core([("jit_f(1)", 0, 100)], [Call("bad\udcff", 0, 50)])}
    (op,) = read_profile(write_xspace(tmp_path / "a.xplane.pb", cores)).ops
    assert op.name == "bad\\xff"


def cut(path: Path, tmp_path: Path) -> Path:
    damaged = tmp_path / ("cut-" + path.name)
    damaged.write_bytes(path.read_bytes()[:-7])
    return damaged


def test_damaged_files_fail_cleanly(path: Path, tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match=r"capture again|Copy the file again"):
        read_profile(cut(path, tmp_path))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.xplane.pb", b""),
        ("a.trace.json.gz", b""),
        ("a.trace.json", b"[1, 2"),
        ("a.trace.json", b'{"other": 1}'),
        ("a.trace.json", b"3"),
        ("a.trace.json", b'{"cols": [{"id": "rank"}], "rows": []}'),
    ],
)
def test_other_files_are_refused_or_empty(tmp_path: Path, name: str, data: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(MisuseError):
        read_profile(file)


def test_a_folder_means_its_newest_run(tmp_path: Path) -> None:
    for run in ("2026_01_01", "2026_01_02"):
        folder = tmp_path / "plugins" / "profile" / run
        folder.mkdir(parents=True)
        for host in ("b", "a"):
            write_xspace(folder / f"{host}.xplane.pb", small())
    assert find_capture(tmp_path).parts[-2:] == ("2026_01_02", "a.xplane.pb")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MisuseError, match="No capture"):
        find_capture(tmp_path / "empty")


@settings(deadline=None, max_examples=40)
@given(st.binary(max_size=300))
def test_any_bytes_parse_or_are_refused(data: bytes) -> None:
    with contextlib.suppress(MisuseError):
        parse_space(data, "any")


@settings(deadline=None, max_examples=40)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda one: (
            st.lists(one)
            | st.dictionaries(st.sampled_from(["ph", "pid", "tid", "args", "name", "ts", "dur", "traceEvents"]), one)
        ),
        max_leaves=12,
    )
)
def test_any_json_reads_or_is_refused(content: Any) -> None:
    with contextlib.suppress(MisuseError):
        tracejson.read_trace_json(Path(os.devnull), content)


@settings(deadline=None, max_examples=60)
@given(
    field=st.sampled_from(["pid", "tid", "ts", "dur", "name", "args", "ph"]),
    value=st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text(max_size=3)
    | st.lists(st.none(), max_size=1),
    at=st.integers(0, 30),
)
def test_any_value_in_an_event_reads_or_is_refused(field: str, value: Any, at: int) -> None:
    events = trace_events(small())
    events[at % len(events)][field] = value
    path = Path("a.trace.json")
    with contextlib.suppress(MisuseError):
        normalise(tracejson.read_trace_json(path, {"traceEvents": events}), path, "")


@pytest.mark.parametrize("table", [{"cols": 3, "rows": []}, {"cols": [1], "rows": []}, {"cols": [], "rows": None}])
def test_a_broken_table_is_refused(tmp_path: Path, table: dict[str, Any]) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(table))
    with pytest.raises(MisuseError, match="hlo_stats"):
        read_profile(file)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("%copy-done.4", "copy-done"),
        ("copy-done", "copy-done"),
        ("RPA-bq_32-bkvp_32-p_128-.1", "RPA-bq_32-bkvp_32-p_128-"),
        ("fusion.235.in_megacore_fusion.1", "fusion"),
        ("fusion.12.remat2", "fusion"),
        ("kernel_v1.5x", "kernel_v1.5x"),
        (".1", ".1"),
    ],
)
def test_base_names(name: str, base: str) -> None:
    assert base_name(name) == base


def test_module_names() -> None:
    assert split_module("jit_f(12)") == ("jit_f", "12")
    assert split_module("jit_<lambda>(12)") == ("jit_<lambda>", "12")
    assert split_module("jit_f") == ("jit_f", "")
