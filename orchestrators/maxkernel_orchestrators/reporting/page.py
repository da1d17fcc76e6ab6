"""The report: one self-contained HTML page without scripts or anything from a network."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

from maxkernel_orchestrators.reporting.outcome import TIME_WORDS, OptimizationResult, SideTime
from maxkernel_orchestrators.stepping.ending import Ending
from maxkernel_orchestrators.stepping.stopping import REASON_WORDS


def page(outcome: OptimizationResult, ending: Ending) -> str:
    """Return the report of a run."""
    text = files("maxkernel_orchestrators.reporting").joinpath("report.html").read_text(encoding="utf-8")
    best = ending.best
    return Template(text).substitute(
        title=html.escape(f"{outcome.task} on {outcome.target}"),
        summary=html.escape(outcome.summary),
        sides=_table(
            ("", "time", "source", "interval", "bound by", "of roofline"),
            [_side_row(side) for side in (outcome.reference, outcome.ours) if side is not None],
        ),
        verdict=html.escape(_verdict(outcome)),
        candidates=_table(
            ("", "from", "move", "state", "parameters", "time", "run", "what came of it"),
            [
                (
                    line.name,
                    line.parent or "",
                    line.move,
                    line.state,
                    ", ".join(f"{name}={value}" for name, value in line.params.items()),
                    f"{line.time_us:.1f} µs" if line.time_us is not None else "",
                    line.run_id or "",
                    line.problem or (f"bound by {line.bound_by}" if line.time_us is not None else ""),
                )
                for line in outcome.candidates
            ],
        ),
        trials=_table(
            ("candidate", "parameters", "time", "note"),
            [
                (
                    candidate.name,
                    ", ".join(f"{name}={value}" for name, value in trial.params.items()),
                    f"{trial.time_us:.1f} µs ({trial.time_source})" if trial.time_us is not None else "",
                    trial.note,
                )
                for candidate in ending.candidates
                for trial in candidate.trials
            ],
        ),
        reason=html.escape(REASON_WORDS[ending.reason]),
        cost=html.escape(_cost(outcome)),
        findings=_list(f"{finding.code}: {finding.message} {finding.hint}".strip() for finding in outcome.findings),
        source=html.escape(best.source if best else "No kernel was verified."),
        record=html.escape(outcome.record_path or ""),
    )


def _side_row(side: SideTime) -> tuple[str, ...]:
    interval = f"{side.interval_us[0]:.1f} to {side.interval_us[1]:.1f} µs" if side.interval_us else ""
    return (
        side.name,
        f"{side.time_us:.1f} µs" if side.time_us is not None else "",
        TIME_WORDS[side.time_source],
        interval,
        side.bound_by,
        f"{side.roofline_fraction:.0%}" if side.roofline_fraction is not None else "",
    )


def _verdict(outcome: OptimizationResult) -> str:
    if outcome.verdict == "none":
        return "No kernel passed the whole test; none is exported."
    checks = [
        "races" if outcome.races_checked else "",
        "uninitialised reads" if outcome.uninitialized_checked else "",
    ]
    checked = " and ".join(check for check in checks if check)
    shapes = "; ".join(dict.fromkeys(outcome.shapes))
    return (
        f"{outcome.verdict} at level {outcome.verdict_level}, in interpret mode (not silicon), on {shapes} with "
        f"secret seeds ({outcome.seeds})" + (f"; {checked} checked." if checked else ".")
    )


def _cost(outcome: OptimizationResult) -> str:
    cost = outcome.cost
    money = f"{cost.usd:.2f} USD" if cost.usd is not None else "an unknown amount of money"
    faults = ", ".join(f"{kind} {count}" for kind, count in cost.faults.items())
    parts = (
        f"{cost.wall_s:.0f} s of wall time",
        f"{cost.compile_s:.0f} s of compiling and profiling",
        f"{cost.evaluations} timings",
        f"{cost.exchanges} exchanges with the author",
        f"{cost.input_tokens} tokens in and {cost.output_tokens} out",
        money,
        f"{cost.device_s:.0f} s of device time",
    )
    return ", ".join(parts) + "." + (f" Faults of the author: {faults}." if faults else "")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>None.</p>"
    header = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def _list(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{html.escape(item)}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else "<p>None.</p>"
