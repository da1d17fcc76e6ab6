"""Opens the lab for a ``jaxbench`` command and turns its answers into result rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from jaxbench.audit.table import committed_table
from jaxbench.results import ResultRow
from maxkernel_lab.logs import stderr_logger
from maxkernel_lab.settings import Settings, load_settings
from maxkernel_tools.chips import roofline_us
from maxkernel_tools.records.profiles import ProfileResult
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.records.targets import Target, parse_target
from maxkernel_tools.records.tasks import PublishedTime
from maxkernel_tools.tasks import Task, flops, hbm_bytes

DEFAULT_OUTPUT: Final = "jaxbench-results"
_PLAIN: Final = (structlog.processors.format_exc_info, structlog.processors.JSONRenderer())


def lab_settings(options: argparse.Namespace, extra_roots: Sequence[Path] = ()) -> Settings:
    """Return the lab's settings; folders a person names on the command line may be read."""
    settings = load_settings(flags={"home": options.home}, extra_roots=extra_roots)
    structlog.configure(
        processors=[structlog.processors.add_log_level, *_PLAIN],
        logger_factory=stderr_logger,
    )
    return settings


def chosen_target(options: argparse.Namespace, settings: Settings) -> Target:
    """Return the target named on the command line, else the settings'.

    Raises:
        MisuseError: it has an unknown name.
    """
    return parse_target(options.target) if options.target else settings.target


def base_row(task: Task, target: Target, options: argparse.Namespace) -> ResultRow:
    """Return what is known of a row before anything has run."""
    facts = task.facts
    work, moved = flops(facts), hbm_bytes(facts)
    published = comparable_time(task, target)
    return ResultRow(
        task=facts.id,
        split=facts.split,
        mode=options.mode,
        labels=" ".join(label.name for label in facts.labels),
        lets_pass=", ".join(classic_passes(task)) if options.mode == "classic" else "",
        target=target.value,
        flops=work,
        hbm_bytes=moved,
        roofline_us=round(roofline_us(target, work, moved, facts.dtype), 3),
        published_us=round(published.time_ms * 1000, 3) if published else None,
        published_source=published.source if published else "",
        task_sha256=task.sha256,
    )


def classic_passes(task: Task) -> tuple[str, ...]:
    """Return what the committed audit says published inputs and tolerance let pass."""
    audited = committed_table().get(task.facts.id)
    return audited.classic_passes if audited else ()


def comparable_time(task: Task, target: Target) -> PublishedTime | None:
    """Return the published time of the same thing on the same target."""
    return next((time for time in task.facts.published if time.target == target.value and time.comparable), None)


def with_profile(row: ResultRow, result: ToolResult) -> ResultRow:
    """Add a profile to ``row``: time with source and interval, what bounds it, speed-up where it has one."""
    failed = {"status": "failed", "message": result.summary[:500], "took_ms": row.took_ms + result.took_ms}
    if not isinstance(result, ProfileResult) or result.time_us is None:
        return row.model_copy(update=failed)
    low, high = result.interval_us or (None, None)
    speedup = result.speedup
    return row.model_copy(
        update={
            "status": "done",
            "time_us": round(result.time_us, 3),
            "time_source": result.time_source,
            "low_us": low,
            "high_us": high,
            "bound_by": result.bound_by,
            "roofline_fraction": row.roofline_us / result.time_us if row.roofline_us else None,
            "reference_us": result.reference.time_us if result.reference else None,
            "speedup": speedup.value if speedup else None,
            "speedup_low": speedup.low if speedup else None,
            "speedup_high": speedup.high if speedup else None,
            "significant": speedup.significant if speedup else None,
            "run_id": result.run_id or row.run_id,
            "took_ms": row.took_ms + result.took_ms,
            "message": "",
        }
    )
