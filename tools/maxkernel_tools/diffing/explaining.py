"""Says what changed in a row besides time, and who contributes. Owns wording; decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from maxkernel_tools.diffing.decomposing import Decomposition, Row
from maxkernel_tools.diffing.groups import Group
from maxkernel_tools.traces.names import typed

_ENOUGH = Fraction(9, 10)
_SPACES = {"0": "HBM", "1": "VMEM"}
_WAITS = frozenset({"copy-done", "async-done", "all-gather-done", "all-reduce-done", "send-done", "recv-done"})
NOT_VISIBLE = "the cause is not visible in this trace"


def changes(row: Row) -> tuple[str, ...]:
    """Return what differs between the sides of a row: calls, shapes, layout, memory space, category, bytes, flops."""
    one, two = row.pair.baseline, row.pair.candidate
    if one is None or two is None:
        return ()
    found: list[str] = []
    if one.calls != two.calls:
        found.append(f"calls {one.calls} and {two.calls}")
    if one.first.category != two.first.category:
        found.append(f"category {one.first.category} and {two.first.category}")
    found.extend(_typed_changes(one, two))
    for word, before, after in (
        ("bytes", _per_call(one, "bytes"), _per_call(two, "bytes")),
        ("flops", _per_call(one, "flops"), _per_call(two, "flops")),
    ):
        if before is not None and after is not None and before != after:
            found.append(f"{word} per call {float(before):,.0f} and {float(after):,.0f}")
    if one.first.category in _WAITS and row.split.delta:
        found.append("time waiting for transfers (exposed DMA)")
    return tuple(found)


def _per_call(group: Group, what: str) -> Fraction | None:
    values = [op.bytes if what == "bytes" else op.flops for op in group.ops]
    known = [(value, op.calls) for value, op in zip(values, group.ops, strict=True) if value is not None]
    if len(known) < len(values) or not group.calls:
        return None
    return Fraction(sum(value * calls for value, calls in known), group.calls)


def _typed_changes(one: Group, two: Group) -> list[str]:
    # Counts are left out: how many instructions there are is told as calls.
    if len(one.ops) != len(two.ops):
        return []
    for part, word in enumerate(("shapes", "layouts", "memory spaces")):
        before = Counter(typed(op.hlo, op.shape)[part] for op in one.ops)
        after = Counter(typed(op.hlo, op.shape)[part] for op in two.ops)
        lost, won = list((before - after).elements()), list((after - before).elements())
        if lost and won:
            ordered_lost, ordered_won = min(lost), min(won)
            differing = dict.fromkeys(
                f"{_space(a, part)} and {_space(b, part)}"
                for a, b in zip(ordered_lost, ordered_won, strict=False)
                if a != b
            )
            said = ", ".join([*differing][:2]) or "another number of operands"
            return [f"{word} of {len(lost)} of {len(one.ops)} instructions: {said}"]
    return []


def _space(value: str, part: int) -> str:
    return _SPACES.get(value, f"space {value}") if part == 2 else (value or "default")[:60]


def contributors(found: Decomposition) -> list[tuple[str, Fraction]]:
    """Return who makes up 90 % of the modules' delta, largest first, idle time among them."""
    total = found.module_delta
    if not total:
        return []
    parts = [(row.pair.shown.base, row.split.delta) for row in found.rows]
    parts.append(("idle", found.idle_delta))
    sign = 1 if total > 0 else -1
    parts = sorted((part for part in parts if part[1] * sign > 0), key=lambda part: (-abs(part[1]), part[0]))
    chosen: list[tuple[str, Fraction]] = []
    reached = Fraction(0)
    for part in parts:
        chosen.append(part)
        reached += part[1]
        if abs(reached) >= abs(total) * _ENOUGH:
            break
    return chosen


def by_category(rows: Sequence[Row]) -> dict[str, tuple[Fraction, Fraction]]:
    """Return the time of each category on both sides."""
    totals: dict[str, tuple[Fraction, Fraction]] = {}
    for row in rows:
        for side, group, time in (
            (0, row.pair.baseline, row.split.baseline),
            (1, row.pair.candidate, row.split.candidate),
        ):
            if group is None:
                continue
            # A group can hold one category only: every tier's key has it.
            before = totals.get(group.first.category, (Fraction(0), Fraction(0)))
            totals[group.first.category] = (before[0] + time, before[1]) if side == 0 else (before[0], before[1] + time)
    return totals
