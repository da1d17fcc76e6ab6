"""``--fail-on``: a condition under which a comparison should stop a build. Owns its grammar and its honesty.

A condition that could not be judged (nothing comparable, or too few samples to tell it from noise) is never a pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.diffs import DiffResult, DiffRow

_GRAMMAR: Final = re.compile(r"(slower|kernel-slower|row-slower)(?::(\d+(?:\.\d+)?)(%|us))?")
_UNTESTED: Final = frozenset({"too few samples", "not tested"})

Scope = Literal["slower", "kernel-slower", "row-slower"]
Outcome = Literal["passed", "met", "inconclusive"]


@dataclass(frozen=True)
class Condition:
    """``slower`` looks at the whole, ``kernel-slower`` at each Pallas kernel, ``row-slower`` at each row.

    Attributes:
        limit: what must be exceeded, a fraction of the baseline or µs.
    """

    scope: Scope
    limit: float
    unit: Literal["%", "us"]
    text: str


@dataclass(frozen=True)
class Gate:
    """How a condition came out, in words."""

    outcome: Outcome
    message: str


def parse_condition(text: str) -> Condition:
    """Read a condition such as ``slower:1%``, ``kernel-slower:2%`` or ``slower:50us``; without a limit it is 0 %.

    Raises:
        MisuseError: it is not one.
    """
    match = _GRAMMAR.fullmatch(text.strip())
    if match is None:
        raise MisuseError(
            f"--fail-on {text[:60]!r}.",
            allowed="slower, kernel-slower or row-slower, each with a limit in % or us, e.g. slower:1%.",
            action="Write it like --fail-on slower:1%.",
        )
    scope, number, unit = match.groups()
    value = float(number or 0)
    named: Scope = "slower" if scope == "slower" else "kernel-slower" if scope == "kernel-slower" else "row-slower"
    return Condition(named, value / 100 if unit != "us" else value, "us" if unit == "us" else "%", match.group())


def judge_condition(condition: Condition, result: DiffResult, rows: Sequence[DiffRow]) -> Gate:
    """Say whether ``condition`` is met.

    Args:
        condition: as parsed.
        result: the comparison.
        rows: all its rows.
    """
    if not result.comparable or result.delta_us is None:
        return Gate("inconclusive", f"{condition.text} could not be judged: {result.summary}")
    if condition.scope == "slower":
        return _whole(condition, result, rows)
    chosen = [row for row in rows if condition.scope == "row-slower" or row.is_pallas]
    if not chosen:
        return Gate("inconclusive", f"{condition.text} could not be judged: there is no such row.")
    over = [row for row in chosen if row.verdict == "slower" and _amount(condition, row) > condition.limit]
    if over:
        named = ", ".join(f"{row.name} ({row.delta_us:+,.3f} us)" for row in over[:3])
        return Gate("met", f"{condition.text} is met by {len(over)} of {len(chosen)} rows: {named}.")
    untold = [row for row in chosen if row.verdict in _UNTESTED and _amount(condition, row) > condition.limit]
    if untold:
        named = ", ".join(row.name for row in untold[:3])
        return Gate("inconclusive", f"{condition.text}: beyond the limit, with too few calls to tell noise: {named}.")
    return Gate("passed", f"{condition.text} is not met by any of {len(chosen)} rows.")


def _amount(condition: Condition, row: DiffRow) -> float:
    if condition.unit == "us":
        return row.delta_us
    return row.mean_change if row.mean_change is not None else 0.0


def _whole(condition: Condition, result: DiffResult, rows: Sequence[DiffRow]) -> Gate:
    delta = result.module_delta_us if result.module_delta_us is not None else result.delta_us or 0.0
    before = sum(module.baseline_us for module in result.modules) or result.baseline_us or 0.0
    change = delta / before if before else 0.0
    told = f"the whole takes {delta:+,.3f} us ({change:+.2%})"
    if (delta if condition.unit == "us" else change) <= condition.limit:
        return Gate("passed", f"{condition.text} is not met: {told}.")
    if result.time_source == "schedule-model":
        return Gate("met", f"{condition.text} is met by the estimate of the schedule model: {told}.")
    if any(row.verdict in {"slower", "added", "removed"} for row in rows):
        return Gate("met", f"{condition.text} is met: {told}.")
    return Gate("inconclusive", f"{condition.text}: {told}, but no row is slower beyond noise.")
