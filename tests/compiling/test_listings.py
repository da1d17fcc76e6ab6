"""Listings of the compiler's dumps: what is joined, in which order, and what happens beyond the budget."""

from __future__ import annotations

import gzip
from pathlib import Path

from maxkernel_tools.compiling import listings as module
from maxkernel_tools.compiling.listings import listings


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))


def test_each_kind_holds_its_files_in_order(tmp_path: Path):
    write(tmp_path, "gemm.1-06-final_bundles.txt", "bundles")
    write(tmp_path, "gemm.1-05-schedule-analysis_final_bundles.txt", "analysis")
    write(tmp_path, "gemm.1-04-final_hlo-static-per-bundle-utilization.txt", "units")
    write(tmp_path, "gemm.1-00-post-ra.txt", "regions")
    write(tmp_path / "mosaic", "0001-post-infer.txt", "second")
    write(tmp_path / "mosaic", "0000-original.txt", "first")
    found = listings(tmp_path)
    assert found["final-schedule"] == "==== gemm.1-06-final_bundles.txt\nbundles\n"
    assert found["unit-use"].index("units") < found["unit-use"].index("analysis")
    assert found["mosaic-passes"].index("first") < found["mosaic-passes"].index("second")
    assert "regions" not in "".join(found.values())


def test_beyond_the_budget_whole_files_are_left_out_and_named(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(module, "LISTING_BUDGET_BYTES", 10)
    for number in range(3):
        write(tmp_path / "mosaic", f"000{number}-pass.txt", "x" * 6)
    text = listings(tmp_path)["mosaic-passes"]
    assert text.count("xxxxxx") == 1
    assert "left out for size: 0001-pass.txt, 0002-pass.txt" in text


def test_without_dumps_there_are_none(tmp_path: Path):
    assert listings(tmp_path) == {}
