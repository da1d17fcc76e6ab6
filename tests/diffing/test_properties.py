"""Properties of any pair of captures: antisymmetry, conservation, invariance under order and numbering."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from maxkernel_tools.diffing import full_diff
from maxkernel_tools.records.diffs import DiffRow
from maxkernel_tools.traces import TraceProfile
from maxkernel_tools.traces.reading import normalise
from maxkernel_tools.traces.tracejson import read_trace_json
from tests.traces.captures import Call, Core, trace_events

OPPOSITE = {"faster": "slower", "slower": "faster", "added": "removed", "removed": "added"}


def profile(events: list[dict[str, Any]]) -> TraceProfile:
    path = Path("a.trace.json.gz")
    return normalise(read_trace_json(path, {"traceEvents": events}), path, "")


@st.composite
def cores(draw: st.DrawFn) -> dict[int, Core]:
    """One or two cores that ran a program once or twice; ops touch, overlap by a picosecond, nest or leave gaps."""
    found: dict[int, Core] = {}
    runs = draw(st.integers(1, 2))
    kinds = {
        name: (draw(st.sampled_from(["a", "b"])), draw(st.sampled_from(["", "jit(f)/add", "jit(f)/mul"])))
        for name in ("fusion.1", "fusion.2", "copy.3", "my_kernel.4", "my_kernel.5")
    }
    for number in range(draw(st.integers(1, 2))):
        core = Core()
        at = 1_000
        for _ in range(runs):
            began = at
            for _ in range(draw(st.integers(1, 12))):
                name = draw(st.sampled_from([*kinds]))
                length = draw(st.integers(0, 50))
                core.calls.append(Call(name, at, length, *kinds[name]))
                at += length + draw(st.integers(-1, 3)) if length else 0
                at = max(at, core.calls[-1].start)
            end = max(call.start + call.ps for call in core.calls)
            core.modules.append(("jit_f(1)", began, end - began + draw(st.integers(0, 5))))
            at = end + 10
        found[number] = core
    return found


def key(row: DiffRow) -> tuple[object, ...]:
    return (row.name, row.category, row.scope, row.delta_us, row.calls_effect_us, row.verdict, row.tier)


@settings(deadline=None, max_examples=25)
@given(cores(), cores())
def test_conservation(one: dict[int, Core], two: dict[int, Core]) -> None:
    result = full_diff(profile(trace_events(one)), profile(trace_events(two)))
    rows = result.rows
    # Whole picoseconds are exact; where runs differ in number, figures are shares rounded to nine places.
    error = 1e-7 if result.result.per_run else 1e-10
    assert abs(sum(row.delta_us for row in rows) - (result.result.delta_us or 0)) < error
    assert all(abs(row.calls_effect_us + row.per_call_effect_us - row.delta_us) < 1e-8 for row in rows)
    whole = (result.result.delta_us or 0) + (result.result.idle_delta_us or 0)
    assert abs(whole - (result.result.module_delta_us or 0)) < error


@settings(deadline=None, max_examples=25)
@given(cores(), cores())
def test_antisymmetry(one: dict[int, Core], two: dict[int, Core]) -> None:
    first, second = profile(trace_events(one)), profile(trace_events(two))
    forwards, backwards = full_diff(first, second), full_diff(second, first)
    assert forwards.result.delta_us == -(backwards.result.delta_us or 0)
    assert forwards.result.level == backwards.result.level
    assert forwards.result.matched_share == tuple(reversed(backwards.result.matched_share or ()))
    mine = sorted((row.category, row.baseline_us, row.candidate_us, row.verdict) for row in forwards.rows)
    theirs = sorted(
        (row.category, row.candidate_us, row.baseline_us, OPPOSITE.get(row.verdict, row.verdict))
        for row in backwards.rows
    )
    assert mine == theirs


@settings(deadline=None, max_examples=25)
@given(cores(), cores(), st.integers(0, 1000), st.integers(0, 500))
def test_order_of_events_and_numbers_of_processes_do_not_matter(
    one: dict[int, Core], two: dict[int, Core], seed: int, pid: int
) -> None:
    plain = full_diff(profile(trace_events(one)), profile(trace_events(two)))
    shuffled = trace_events(two, first_pid=pid)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - an order, no secret
    again = full_diff(profile(trace_events(one)), profile(shuffled))
    assert plain.result.model_copy(update={"took_ms": 0}) == again.result.model_copy(update={"took_ms": 0})
    assert [key(row) for row in plain.rows] == [key(row) for row in again.rows]


@settings(deadline=None, max_examples=20)
@given(cores())
def test_against_itself(one: dict[int, Core]) -> None:
    same = profile(trace_events(one))
    found = full_diff(same, same)
    assert found.result.delta_us == found.result.module_delta_us == 0
    assert {row.verdict for row in found.rows} <= {"same within noise", "too few samples"}
