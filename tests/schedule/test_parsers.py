"""Utilisation, regions, HLO and dump folders on stored samples; property tests on what must never crash."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxkernel_tools.schedule.dumps import TOP_LEVEL, DumpFolder
from maxkernel_tools.schedule.hlo import parse_hlo, parse_shape
from maxkernel_tools.schedule.regions import outer_trips, parse_regions
from maxkernel_tools.schedule.unknown import UnknownFormatError
from maxkernel_tools.schedule.utilization import parse_utilization
from tests.schedule.samples import PALLAS_GEMM, PALLAS_GEMM_012, RMSNORM


def test_folder_knows_its_programs() -> None:
    folder = DumpFolder.open(RMSNORM)
    assert sorted(folder.programs) == ["add_rsqrt_fusion", "fusion.1", "fusion.2"]
    assert folder.has(TOP_LEVEL, "hlo")
    assert outer_trips(folder)["fusion.2"] == 264


def test_names_with_stamp_and_without_compression(tmp_path: Path) -> None:
    name = "1796072688154054384-workload.1-07-final_bundles.txt"
    (tmp_path / name).write_text("x")
    (tmp_path / "notes.txt").write_text("x")
    assert DumpFolder.open(tmp_path).programs == ["workload.1"]
    assert DumpFolder.open(tmp_path / "absent").programs == []


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a-07-final_bundles.txt.gz").write_bytes(gzip.compress(b"x" * 1000)[:-9])
    with pytest.raises(UnknownFormatError, match="cannot be read"):
        DumpFolder.open(tmp_path).text("a", "final_bundles")


@pytest.mark.parametrize(
    ("sample", "program", "spills"),
    [(PALLAS_GEMM, "workload.1", True), (PALLAS_GEMM_012, "workload.1", True), (RMSNORM, "fusion.2", False)],
)
def test_utilization_of_all_versions(sample: Path, program: str, spills: bool) -> None:
    use = parse_utilization(DumpFolder.open(sample).text(program, "utilization"))
    assert use.capacity["MXU"] == 2
    assert use.capacity["VALU"] == 4
    assert ("VSTORE:SPILL" in use.units) == spills
    assert {"XLU", "EUP", "VLOAD", "VSTORE", "SALU"} <= set(use.units)
    assert (use.used >= 0).all()


@given(st.text(max_size=300))
def test_any_text_is_a_utilization_or_refused(text: str) -> None:
    with contextlib.suppress(UnknownFormatError):
        parse_utilization(text)


@pytest.mark.parametrize("sample", [PALLAS_GEMM, PALLAS_GEMM_012])
def test_trip_counts_of_the_region_tree(sample: Path) -> None:
    regions = parse_regions(DumpFolder.open(sample).text("workload.1", "post_ra"))
    assert [region.trips for region in regions.values() if region.trips] == [66]


def test_region_tree() -> None:
    regions = parse_regions(DumpFolder.open(PALLAS_GEMM).text("workload.1", "post_ra"))
    predicated = [region for region in regions.values() if region.role == "pred_region"]
    assert {region.parent for region in predicated} == {27, 94}
    with pytest.raises(UnknownFormatError):
        parse_regions("no region here")


def test_hlo_entry_with_memory_spaces_and_lines() -> None:
    module = parse_hlo(DumpFolder.open(RMSNORM).text(TOP_LEVEL, "hlo"))
    by_name = {op.name: op for op in module.entry_ops}
    assert by_name["fusion.1"].arrays[0].memory_space == 1
    assert by_name["fusion.1"].operands == ("Arg_0.1",)
    assert by_name["copy-start"].arrays[0].nbytes == 8192 * 2
    assert module.argument_bytes == 8 * 4096 * 8192 * 2 + 8192 * 2
    assert module.output_bytes == 8 * 4096 * 8192 * 2
    assert by_name["fusion.2"].line


def test_hlo_lines_through_stack_frames() -> None:
    for sample, line in ((PALLAS_GEMM, 18), (PALLAS_GEMM_012, 26)):
        module = parse_hlo(DumpFolder.open(sample).text(TOP_LEVEL, "hlo"))
        assert module.all_ops["workload.1"].line == line


@given(st.text(max_size=500))
def test_any_text_is_a_module(text: str) -> None:
    parse_hlo(text)
    parse_shape(text)
