"""Compares two schedule profiles by part: program, units, ops, source lines, stretches of bundles, operands.

Both sides are estimates by one model from the compiler's own schedules. Nothing here is a measurement and nothing is
tested for significance: the same compile gives the same figures to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from maxkernel_tools.records.diffs import DiffResult, ScheduleRow
from maxkernel_tools.traces.names import base_name

_PROGRAM: Final = (
    "time_us",
    "compute_floor_us",
    "transfer_floor_us",
    "bundles",
    "hbm_bytes",
    "flops",
    "spill_slots",
    "dma_wait_share",
    "vmem_bytes",
)
_OP: Final = (
    "time_us",
    "bundles",
    "issue_cycles",
    "wait_us",
    "dma_read_bytes",
    "dma_write_bytes",
    "spill_slots",
    "vmem_bytes",
    "calls",
)
_LINE: Final = ("time_us", "bundles", "wait_us", "dma_bytes", "spill_slots")
_REGION: Final = ("time_us", "bundles", "times", "wait_us", "dma_bytes")
_OPERAND: Final = ("fetches", "hbm_bytes")
_ROWS: Final = 40
_Sheet = Mapping[str, Any]
_Figures = Mapping[str, Any]


@dataclass(frozen=True)
class SheetSide:
    """One side: how a person calls it, its figures, and its kernel's lines."""

    name: str
    sheet: _Sheet
    source: Sequence[str] = ()

    def text_of(self, line: int | None) -> str:
        """Return the text of a line, empty where it is not known."""
        return self.source[line - 1].strip()[:160] if line and 0 < line <= len(self.source) else ""


def diff_schedules(baseline: SheetSide, candidate: SheetSide) -> tuple[DiffResult, tuple[ScheduleRow, ...]]:
    """Return the answer within a reply's size, and every row.

    Times are estimates; refuses (``comparable`` false) profiles for different chips.
    """
    one, two = baseline.sheet, candidate.sheet
    notes = _notes(one, two)
    if one["target"] != two["target"]:
        refusal = f"Targets differ: {one['target']} and {two['target']}."
        result = DiffResult(
            ok=False,
            summary=f"Not comparable: {refusal}",
            comparable=False,
            parity=(refusal, *notes),
            level="none",
            baseline=baseline.name,
            candidate=candidate.name,
            time_source="schedule-model",
        )
        return result, ()
    rows = [
        *_measured("program", "program", one["program"], two["program"], _PROGRAM),
        *_units(one["units"], two["units"]),
        *_ops(one, two),
        *_lines(baseline, candidate),
        *_regions(one, two),
        *_operands(one, two),
    ]
    before, after = float(one["program"]["time_us"]), float(two["program"]["time_us"])
    changed = [row for row in rows if row.delta]
    result = DiffResult(
        ok=True,
        summary=_summary(one, two, before, after, changed),
        comparable=True,
        parity=tuple(notes),
        level="ops",
        baseline=baseline.name,
        candidate=candidate.name,
        time_source="schedule-model",
        baseline_us=before,
        candidate_us=after,
        delta_us=after - before,
        schedule=tuple(changed[:_ROWS]),
        rows_total=len(rows),
        explanation=tuple(_said(row) for row in changed[:6]),
    )
    return result, tuple(rows)


def _notes(one: _Sheet, two: _Sheet) -> list[str]:
    notes = ["Both sides are estimates of the schedule model, not measurements."]
    versions: tuple[Mapping[str, str], Mapping[str, str]] = one["versions"], two["versions"]
    for name in sorted(versions[0].keys() | versions[1].keys()):
        first, second = versions[0].get(name, "unknown"), versions[1].get(name, "unknown")
        if first != second:
            notes.append(f"{name} differs: {first} and {second}.")
    return notes


def _summary(one: _Sheet, two: _Sheet, before: float, after: float, changed: Sequence[ScheduleRow]) -> str:
    change = after / before - 1 if before else 0.0
    low, high = one["interval_us"], two["interval_us"]
    apart = low[1] < high[0] or high[1] < low[0]
    certain = "their intervals do not overlap" if apart else "within the model's intervals, so it may be nothing"
    if not changed:
        return f"The two schedules are the same in every figure: {after:,.2f} us estimated on {two['target']}."
    bound = f"; bound by {one['bound_by']}, then {two['bound_by']}" if one["bound_by"] != two["bound_by"] else ""
    return (
        f"Estimated {before:,.2f} and {after:,.2f} us on {two['target']} ({change:+.2%}; {certain}){bound}. "
        f"{len(changed)} figures differ; estimates of the schedule model, not measured."
    )


def _said(row: ScheduleRow) -> str:
    before, after = (0.0 if value is None else value for value in (row.baseline, row.candidate))
    return f"{row.part} {row.name}: {row.measure.replace('_', ' ')} {before:,.4g} to {after:,.4g}"[:300]


def _measured(
    part: Any, name: str, one: _Figures | None, two: _Figures | None, measures: Sequence[str], **more: Any
) -> list[ScheduleRow]:
    rows: list[ScheduleRow] = []
    for measure in measures:
        before = one.get(measure) if one else None
        after = two.get(measure) if two else None
        if before is None and after is None:
            continue
        delta = float(after or 0) - float(before or 0)
        change = delta / float(before) if before and after is not None else None
        rows.append(
            ScheduleRow(
                part=part,
                name=name,
                measure=measure,
                baseline=None if before is None else float(before),
                candidate=None if after is None else float(after),
                delta=delta,
                change=change,
                **more,
            )
        )
    return rows


def _units(one: Mapping[str, float], two: Mapping[str, float]) -> list[ScheduleRow]:
    return [
        row
        for unit in one
        for row in _measured("unit", unit, {"busy_share": one[unit]}, {"busy_share": two.get(unit)}, ("busy_share",))
    ]


def _pair(
    one: Sequence[_Figures], two: Sequence[_Figures], key: Callable[[_Figures], object]
) -> list[tuple[_Figures | None, _Figures | None]]:
    """Align two lists by key, in order: like diff does with lines."""
    mine, theirs = [key(item) for item in one], [key(item) for item in two]
    pairs: list[tuple[_Figures | None, _Figures | None]] = []
    for _, a, b, c, d in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        equal = mine[a:b] == theirs[c:d]
        if equal:
            pairs += zip(one[a:b], two[c:d], strict=True)
        else:
            pairs += [(item, None) for item in one[a:b]] + [(None, item) for item in two[c:d]]
    return pairs


def _ops(one: _Sheet, two: _Sheet) -> list[ScheduleRow]:
    rows: list[ScheduleRow] = []
    for before, after in _pair(one["ops"], two["ops"], lambda op: base_name(op["name"])):
        shown = before or after or {}
        rows += _measured("op", str(shown["name"]), before, after, _OP, line=shown.get("line"))
    return sorted(rows, key=lambda row: -abs(row.delta) if row.measure == "time_us" else 0)


def _by_line(side: SheetSide) -> dict[str, dict[str, Any]]:
    """Sum ops by the user's line, known by its text where there is one: numbers shift when a file is edited."""
    found: dict[str, dict[str, Any]] = {}
    for op in side.sheet["ops"]:
        line = op.get("line")
        if not line:
            continue
        text = side.text_of(line)
        sums = found.setdefault(text or f"line {line}", {"line": line, "text": text})
        figures = {**op, "dma_bytes": (op.get("dma_read_bytes") or 0) + (op.get("dma_write_bytes") or 0)}
        for name in _LINE:
            if figures.get(name) is not None:
                sums[name] = sums.get(name, 0) + figures[name]
    return found


def _lines(baseline: SheetSide, candidate: SheetSide) -> list[ScheduleRow]:
    one, two = _by_line(baseline), _by_line(candidate)
    rows: list[ScheduleRow] = []
    for key in {**one, **two}:
        shown = two.get(key) or one[key]
        rows += _measured(
            "line", f"line {shown['line']}", one.get(key), two.get(key), _LINE,
            line=shown["line"], source_line=shown["text"],
        )  # fmt: skip
    return rows


def _regions(one: _Sheet, two: _Sheet) -> list[ScheduleRow]:
    rows: list[ScheduleRow] = []
    pairs = _pair(one["regions"], two["regions"], lambda part: (base_name(part["op"]), part["role"]))
    for before, after in pairs:
        shown = after or before or {}
        where = f"{shown['op']}: {shown['role']}, bundles {shown['first']} to {shown['first'] + shown['bundles'] - 1}"
        rows += _measured("region", where, before, after, _REGION)
    return rows


def _operands(one: _Sheet, two: _Sheet) -> list[ScheduleRow]:
    before = {row["operand"]: row for row in one["operands"]}
    after = {row["operand"]: row for row in two["operands"]}
    rows: list[ScheduleRow] = []
    for name in {**before, **after}:
        rows += _measured("operand", name, before.get(name), after.get(name), _OPERAND)
    return rows
