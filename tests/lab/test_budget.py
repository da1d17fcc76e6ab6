"""Results stay under 20 kB as JSON and as text; what is cut says so; shapes stay whole."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from maxkernel_lab.budget import RESULT_BYTES, cut, fits, size
from maxkernel_lab.rendering import as_text

_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=2000),
    lambda inner: st.lists(inner, max_size=120) | st.dictionaries(st.text(min_size=1, max_size=20), inner, max_size=20),
    max_leaves=60,
)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=20), _JSON, max_size=12), st.integers(1, 12))
def test_every_result_fits_after_cutting(fields: dict[str, Any], times: int) -> None:
    result = {**{f"{key}{n}": value for n in range(times) for key, value in fields.items()}}
    result |= {"ok": True, "state": "done", "summary": "s" * 5000, "artifacts": []}
    assert size(cut(result, "maxkernel://runs/r-1/whole.json")) <= RESULT_BYTES


def test_a_small_result_is_left_alone() -> None:
    result = {"ok": True, "summary": "fine", "shape": [1, 2, 3]}
    assert cut(result, None) == result


def test_a_cut_says_so_and_where_the_whole_is() -> None:
    findings = [{"code": "x", "message": "m" * 900, "shape": [8, 128, 7, 5, 3, 2]} for _ in range(60)]
    result = {"ok": False, "summary": "bad", "findings": findings, "artifacts": [], "run_id": "r-1"}
    assert not fits(result)
    shorter = cut(result, "maxkernel://runs/r-1/whole.json")
    assert "Cut to fit" in shorter["summary"]
    assert "maxkernel://runs/r-1/whole.json" in shorter["summary"]
    assert 0 < len(shorter["findings"]) < 60
    assert shorter["findings"][0]["shape"] == [8, 128, 7, 5, 3, 2]
    assert shorter["run_id"] == "r-1"


def test_a_graph_is_left_out_rather_than_halved() -> None:
    graph = {"equations": [{"primitive": "add", "inputs": ["a", "b"], "outputs": ["c"]}] * 900}
    shorter = cut({"ok": True, "summary": "s", "reference_graph": graph, "reference_source": "x = 1"}, "uri")
    assert shorter["reference_graph"] is None
    assert shorter["reference_source"] == "x = 1"


def test_text_carries_every_fact() -> None:
    result = {
        "summary": "Two targets.",
        "ok": True,
        "targets": [{"target": "v6e", "vmem_bytes": 123456, "calls": [{"name": "gemm", "grid": [4, 8]}]}],
        "artifacts": [{"uri": "maxkernel://runs/r-1/a.txt", "kind": "text", "bytes": 3}],
        "source": "line one\nline two",
        "nothing": None,
    }
    text = as_text(result)
    for fact in ("Two targets.", "v6e", "123456", "gemm", "[4, 8]", "maxkernel://runs/r-1/a.txt", "line two"):
        assert fact in text
    assert "nothing" not in text
    assert len(text) < len(json.dumps(result)) * 1.3
