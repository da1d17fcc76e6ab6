"""Two schedule profiles by part: pairing, signs, versions of the compiler, what is refused."""

from __future__ import annotations

import copy
import csv
import io
from typing import Any

from maxkernel_tools.diffing.schedules import SheetSide, diff_schedules
from maxkernel_tools.diffing.tables import rows_csv
from maxkernel_tools.diffing.viewing import schedule_page

SHEET: dict[str, Any] = {
    "format": 1,
    "target": "v5e",
    "versions": {"jax": "0.10.2", "libtpu": "0.0.42"},
    "interval_us": [18.0, 22.0],
    "bound_by": "dma-in",
    "program": {"time_us": 20.0, "bundles": 653, "spill_slots": 0, "hbm_bytes": 1000, "vmem_bytes": 512},
    "units": {"mxu": 0.5, "vpu": 0.1},
    "ops": [
        {"name": "k.1", "line": 4, "time_us": 15.0, "bundles": 600, "wait_us": 3.0, "dma_read_bytes": 900.0,
         "dma_write_bytes": 100.0, "spill_slots": 0, "calls": 1},
    ],
    "regions": [
        {"op": "k.1", "role": "loop body", "first": 3, "times": 16, "bundles": 15, "time_us": 1.0, "wait_us": 0.0,
         "dma_bytes": 900.0},
    ],
    "operands": [{"operand": "in0", "fetches": 16, "hbm_bytes": 900}],
}  # fmt: skip
SOURCE = ["import x", "", "def workload(x):", "    return call(x)"]


def changed() -> dict[str, Any]:
    sheet = copy.deepcopy(SHEET)
    sheet["program"].update(time_us=25.0, spill_slots=7)
    sheet["interval_us"] = [23.0, 27.0]
    sheet["ops"][0].update(name="k.7", line=6, time_us=20.0, spill_slots=7)
    sheet["regions"][0].update(op="k.7", first=9, times=32, time_us=2.0)
    return sheet


def test_every_part_is_told_and_signs_flip() -> None:
    one, two = SheetSide("a", SHEET, SOURCE), SheetSide("b", changed(), ["# moved", "# down", *SOURCE])
    result, rows = diff_schedules(one, two)
    assert (result.ok, result.comparable, result.time_source, result.delta_us) == (True, True, "schedule-model", 5.0)
    assert "not measured" in result.summary
    figures = {(row.part, row.measure): (row.baseline, row.candidate) for row in rows}
    assert figures["program", "spill_slots"] == (0, 7)
    assert figures["op", "time_us"] == (15, 20)
    # The same line, known by its text, though it moved down by two.
    assert figures["line", "time_us"] == (15, 20)
    assert next(row.source_line for row in rows if row.part == "line") == "return call(x)"
    assert figures["region", "times"] == (16, 32)
    assert figures["operand", "fetches"] == (16, 16)
    back = {(row.part, row.measure): row.delta for row in diff_schedules(two, one)[1]}
    assert back == {(row.part, row.measure): -row.delta for row in rows}


def test_the_same_schedule_differs_in_nothing() -> None:
    result, rows = diff_schedules(SheetSide("a", SHEET, SOURCE), SheetSide("b", SHEET, SOURCE))
    assert result.delta_us == 0
    assert not any(row.delta for row in rows)
    assert result.schedule == ()
    assert "the same in every figure" in result.summary


def test_versions_of_the_compiler_are_told_first() -> None:
    other = {**SHEET, "versions": {"jax": "0.12.0", "libtpu": "0.0.50"}}
    result, _ = diff_schedules(SheetSide("a", SHEET), SheetSide("b", other))
    assert "jax differs: 0.10.2 and 0.12.0." in result.parity
    assert result.comparable


def test_other_chips_are_refused() -> None:
    result, rows = diff_schedules(SheetSide("a", SHEET), SheetSide("b", {**SHEET, "target": "v6e"}))
    assert (result.ok, result.comparable, result.delta_us, rows) == (False, False, None, ())
    assert "Targets differ" in result.summary


def test_an_op_of_one_side_is_added_or_removed() -> None:
    more = copy.deepcopy(SHEET)
    more["ops"].append({"name": "copy.2", "line": None, "time_us": 4.0, "bundles": 9, "calls": 1})
    _, rows = diff_schedules(SheetSide("a", SHEET), SheetSide("b", more))
    (row,) = [row for row in rows if row.name == "copy.2" and row.measure == "time_us"]
    assert (row.baseline, row.candidate, row.delta) == (None, 4.0, 4.0)


def test_table_and_page_hold_every_row() -> None:
    result, rows = diff_schedules(SheetSide("a", SHEET, SOURCE), SheetSide("b", changed(), SOURCE))
    lines = list(csv.DictReader(io.StringIO(rows_csv(rows))))
    assert len(lines) == len(rows)
    assert sum(float(line["delta"]) for line in lines) == sum(row.delta for row in rows)
    assert schedule_page(result, rows).count("</script>") == 2
