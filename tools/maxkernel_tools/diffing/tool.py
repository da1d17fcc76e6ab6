"""``diff_traces``: two captures in, one answer out. Owns the order of steps and the size of the answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from maxkernel_tools.diffing.decomposing import Decomposition, Row, decompose
from maxkernel_tools.diffing.explaining import NOT_VISIBLE, by_category, changes, contributors
from maxkernel_tools.diffing.groups import Group, index_ops
from maxkernel_tools.diffing.judging import Judgement, Side, judge
from maxkernel_tools.diffing.matching import matched_share
from maxkernel_tools.diffing.parity import compare_captures, compare_modules
from maxkernel_tools.diffing.statistics import mean, median, median_interval
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.diffs import CategoryDelta, DiffResult, DiffRow, ModuleDelta
from maxkernel_tools.traces import TraceProfile, read_profile

_MIN_MATCHED = 0.8
_ROWS_BYTES = 12_500
_MAX_NOTES = 10
_NOTE_LENGTH = 240
_FIRST_ROWS = 6


@dataclass(frozen=True)
class TraceDiff:
    """The whole answer: ``result`` fits a tool's reply, ``rows`` is the full table.

    Attributes:
        samples: self time of each call in device order, ps: (baseline, candidate) for each of ``rows``.
    """

    result: DiffResult
    rows: tuple[DiffRow, ...]
    samples: tuple[tuple[Sequence[int], Sequence[int]], ...] = ()


def diff_traces(
    baseline: Path | TraceProfile,
    candidate: Path | TraceProfile,
    *,
    core: int | None = None,
    candidate_core: int | None = None,
) -> DiffResult:
    """Say where the time went between two captures.

    Args:
        baseline: a capture (file or folder), or a profile read already.
        candidate: the same.
        core: core to compare, by default the lowest in the baseline.
        candidate_core: core of the candidate, by default ``core``.

    Raises:
        MisuseError: a capture is absent or damaged, or lacks the core.
    """
    return full_diff(baseline, candidate, core=core, candidate_core=candidate_core).result


def full_diff(
    baseline: Path | TraceProfile,
    candidate: Path | TraceProfile,
    *,
    core: int | None = None,
    candidate_core: int | None = None,
) -> TraceDiff:
    """Do what ``diff_traces`` does and return every row as well, for a table."""
    began = time.monotonic()
    one = baseline if isinstance(baseline, TraceProfile) else read_profile(baseline)
    two = candidate if isinstance(candidate, TraceProfile) else read_profile(candidate)
    parity = compare_captures(one, two)
    if parity.refusals:
        result = DiffResult(
            ok=False,
            summary="Not comparable: " + " ".join(parity.refusals),
            comparable=False,
            parity=_short((*parity.refusals, *parity.notes)),
            level="none",
            baseline=one.capture.name,
            candidate=two.capture.name,
            clock=one.clock,
            identity=_identity(one, two),
            took_ms=_since(began),
        )
        return TraceDiff(result, ())
    cores = _core(one, core, "baseline"), _core(two, core if candidate_core is None else candidate_core, "candidate")
    found = decompose(one, two, cores)
    judgements = judge(found.rows, Side(cores[0], index_ops(one.ops)), Side(cores[1], index_ops(two.ops)))
    share = matched_share([row.pair for row in found.rows])
    told = [(_row(row, judgement), _samples(row)) for row, judgement in zip(found.rows, judgements, strict=True)]
    told.sort(key=lambda one: (-abs(one[0].delta_us), one[0].module, one[0].name, one[0].category))
    rows, samples = [row for row, _ in told], tuple(both for _, both in told)
    notes = [*compare_modules([module.pair for module in found.modules]), *parity.notes]
    differ = min(share) < _MIN_MATCHED
    if differ:
        notes.insert(
            0, f"The programs differ: {share[0]:.0%} and {share[1]:.0%} of the time is matched; see categories."
        )
        rows, samples = _category_rows(found), ()
    names = [f"{name} {_us(part):+,.3f} us" for name, part in contributors(found)]
    result = DiffResult(
        ok=not differ,
        summary=_summary(found, rows, names, cores, differ),
        comparable=not differ,
        parity=_short(notes),
        level="categories" if differ else "ops",
        baseline=one.capture.name,
        candidate=two.capture.name,
        core=cores[0],
        candidate_core=cores[1],
        clock=one.clock,
        per_run=found.per_run,
        baseline_us=_us(sum((row.split.baseline for row in found.rows), Fraction(0))),
        candidate_us=_us(sum((row.split.candidate for row in found.rows), Fraction(0))),
        delta_us=_us(found.ops_delta),
        module_delta_us=_us(found.module_delta),
        idle_delta_us=_us(found.idle_delta),
        matched_share=share,
        rows=fitting(rows),
        rows_total=len(rows),
        modules=_modules(found),
        categories=_categories(found),
        contributors=tuple(names[:12]),
        explanation=_explanation(rows),
        identity=_identity(one, two),
        took_ms=_since(began),
    )
    return TraceDiff(result, tuple(rows), samples)


def _samples(row: Row) -> tuple[Sequence[int], Sequence[int]]:
    one, two = row.pair.baseline, row.pair.candidate
    return one.samples if one else (), two.samples if two else ()


def _identity(one: TraceProfile, two: TraceProfile) -> str:
    return f"{one.capture.sha256} {two.capture.sha256}"


def _short(notes: Sequence[str]) -> tuple[str, ...]:
    return tuple(note if len(note) <= _NOTE_LENGTH else note[:_NOTE_LENGTH] + " ..." for note in notes[:_MAX_NOTES])


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _us(ps: Fraction | float) -> float:
    """Picoseconds to µs: whole ones exactly, shares of a run to nine places."""
    whole = not isinstance(ps, Fraction) or ps.denominator == 1
    return round(float(ps / 1_000_000), 6 if whole else 9)


def _core(profile: TraceProfile, wanted: int | None, side: str) -> int:
    cores = sorted({op.core for op in profile.ops})
    chosen = cores[0] if wanted is None else wanted
    if chosen not in cores:
        raise MisuseError(
            f"The {side} has no core {chosen}.",
            allowed=", ".join(str(core) for core in cores) + ".",
            action="Name one of these cores.",
        )
    return chosen


def _change(before: float, after: float) -> float | None:
    return after / before - 1 if before else None


def _interval(group: Group | None) -> tuple[float, float] | None:
    if group is None or not group.samples:
        return None
    low, high = median_interval(group.samples)
    return _us(low), _us(high)


def _row(row: Row, judgement: Judgement) -> DiffRow:
    one, two = row.pair.baseline, row.pair.candidate
    shown = row.pair.shown
    split = row.split
    delta, calls_effect = _us(split.delta), _us(split.calls_effect)
    sampled = one is not None and two is not None and bool(one.samples) and bool(two.samples)
    other = two.first.base if one is not None and two is not None and two.first.base != shown.base else None
    changed = changes(row)
    if judgement.verdict in {"faster", "slower"} and not changed:
        changed = (NOT_VISIBLE,)
    return DiffRow(
        name=shown.base,
        candidate_name=other,
        module=row.module,
        category=shown.category,
        scope=shown.scope[-100:],
        source=shown.source[-80:],
        tier=row.pair.tier,
        verdict=judgement.verdict,
        is_pallas=shown.is_pallas,
        baseline_calls=one.calls if one else 0,
        candidate_calls=two.calls if two else 0,
        baseline_us=_us(split.baseline),
        candidate_us=_us(split.candidate),
        delta_us=delta,
        calls_effect_us=calls_effect,
        per_call_effect_us=round(delta - calls_effect, 9),
        median_change=_change(median(one.samples), median(two.samples)) if sampled and one and two else None,
        mean_change=_change(mean(one.samples), mean(two.samples)) if sampled and one and two else None,
        baseline_median_us=_us(median(one.samples)) if one and one.samples else None,
        candidate_median_us=_us(median(two.samples)) if two and two.samples else None,
        baseline_interval_us=_interval(one),
        candidate_interval_us=_interval(two),
        baseline_min_us=_us(min(one.samples)) if one and one.samples else None,
        candidate_min_us=_us(min(two.samples)) if two and two.samples else None,
        p=judgement.p,
        floor=judgement.floor,
        bimodal=judgement.bimodal,
        changed=changed,
        trusted=all(op.trusted for group in (one, two) if group for op in group.ops),
    )


def _rolled_up(name: str, category: str, rows: Sequence[DiffRow]) -> DiffRow:
    def total(values: Sequence[float]) -> float:
        return round(sum(values), 9)

    return DiffRow(
        name=name,
        module="",
        category=category,
        verdict="not tested",
        baseline_calls=sum(row.baseline_calls for row in rows),
        candidate_calls=sum(row.candidate_calls for row in rows),
        baseline_us=total([row.baseline_us for row in rows]),
        candidate_us=total([row.candidate_us for row in rows]),
        delta_us=total([row.delta_us for row in rows]),
        calls_effect_us=total([row.calls_effect_us for row in rows]),
        per_call_effect_us=total([row.per_call_effect_us for row in rows]),
    )


def fitting(rows: Sequence[DiffRow]) -> tuple[DiffRow, ...]:
    """Return the rows a reply has room for: large deltas and Pallas kernels; the last row is the sum of the others."""
    order = sorted(range(len(rows)), key=lambda at: (at >= _FIRST_ROWS and not rows[at].is_pallas, at))
    kept: set[int] = set()
    used = 0
    for at in order:
        used += len(rows[at].model_dump_json())
        if used > _ROWS_BYTES:
            break
        kept.add(at)
    chosen = [row for at, row in enumerate(rows) if at in kept]
    others = [row for at, row in enumerate(rows) if at not in kept]
    if others:
        chosen.append(_rolled_up(f"(other {len(others)} rows)", "(several)", others))
    return tuple(chosen)


def _category_rows(found: Decomposition) -> list[DiffRow]:
    rows: list[DiffRow] = []
    for name, (before, after) in by_category(found.rows).items():
        groups = [row.pair for row in found.rows if row.pair.shown.category == name]
        delta = _us(after - before)
        rows.append(
            DiffRow(
                name=name,
                module="",
                category=name,
                verdict="not tested",
                baseline_calls=sum(pair.baseline.calls for pair in groups if pair.baseline),
                candidate_calls=sum(pair.candidate.calls for pair in groups if pair.candidate),
                baseline_us=_us(before),
                candidate_us=_us(after),
                delta_us=delta,
                calls_effect_us=delta,
                per_call_effect_us=0.0,
            )
        )
    rows.sort(key=lambda row: (-abs(row.delta_us), row.name))
    return rows


def _modules(found: Decomposition) -> tuple[ModuleDelta, ...]:
    deltas = [
        ModuleDelta(
            name=module.pair.name,
            baseline_runs=module.pair.baseline.runs if module.pair.baseline else 0,
            candidate_runs=module.pair.candidate.runs if module.pair.candidate else 0,
            baseline_us=_us(module.baseline),
            candidate_us=_us(module.candidate),
            delta_us=_us(module.delta),
            ops_delta_us=_us(module.ops_delta),
            idle_delta_us=_us(module.idle_delta),
        )
        for module in found.modules
    ]
    return tuple(sorted(deltas, key=lambda delta: (-abs(delta.delta_us), delta.name))[:8])


def _categories(found: Decomposition) -> tuple[CategoryDelta, ...]:
    deltas = [
        CategoryDelta(category=name, baseline_us=_us(before), candidate_us=_us(after), delta_us=_us(after - before))
        for name, (before, after) in by_category(found.rows).items()
    ]
    return tuple(sorted(deltas, key=lambda delta: (-abs(delta.delta_us), delta.category))[:20])


def _summary(
    found: Decomposition, rows: Sequence[DiffRow], names: Sequence[str], cores: tuple[int, int], differ: bool
) -> str:
    before = sum((row.split.baseline for row in found.rows), Fraction(0))
    percent = f" ({float(found.ops_delta / before):+.2%})" if before else ""
    per_run = " per run" if found.per_run else ""
    where = f"core {cores[0]}" if cores[0] == cores[1] else f"cores {cores[0]} and {cores[1]}"
    ops, whole = _us(found.ops_delta), _us(found.module_delta)
    said = f"Ops take {ops:+,.3f} us{per_run}{percent} on {where}, {whole:+,.3f} us with idle time."
    if differ:
        return f"The programs differ, compare categories only. {said}"
    counts = {word: sum(1 for row in rows if row.verdict == word) for word in ("faster", "slower", "added", "removed")}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    said += f" Rows: {told}." if told else " No row changed beyond noise."
    return said + (f" Most of it: {'; '.join(names[:3])}." if names and told else "")


def _explanation(rows: Sequence[DiffRow]) -> tuple[str, ...]:
    lines: list[str] = []
    for row in rows:
        if row.verdict in {"faster", "slower", "added", "removed"} and len(lines) < 6:
            why = "; ".join(row.changed)
            each = f" ({row.mean_change:+.2%} a call)" if row.mean_change is not None else ""
            modes = " Bimodal, so mean and median tell different stories." if row.bimodal else ""
            lines.append(
                f"{row.name}: {row.verdict}, {row.delta_us:+,.3f} us{each}{': ' + why if why else ''}.{modes}"[:300]
            )
    return tuple(lines)
