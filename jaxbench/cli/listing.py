"""``jaxbench list`` and ``jaxbench show``: what there is to compute, and what is known about it. Starts no lab."""

from __future__ import annotations

import argparse
from typing import Any

from jaxbench import SPLITS, task_roots
from jaxbench.audit.table import committed_table
from jaxbench.cli.printing import microseconds, print_json, print_lines, print_table
from maxkernel_tools.chips import roofline_us
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.targets import Target
from maxkernel_tools.tasks import Task, TaskCatalog, flops, hbm_bytes, input_specs, output_specs


def list_tasks(options: argparse.Namespace) -> int:
    """Print one line per task."""
    found = chosen_tasks(options.split, options.query)
    if options.json:
        lines = [_line(task) for task in found]
        print_json({"ok": True, "summary": _count(found), "total": len(found), "tasks": lines})
        return 0
    print_table(
        ("id", "split", "tier", "operator", "title", "labels"),
        [
            (
                facts.id,
                facts.split,
                facts.tier,
                facts.operator,
                facts.title,
                " ".join(label.name for label in facts.labels),
            )
            for facts in (task.facts for task in found)
        ],
    )
    print_lines("", _count(found))
    return 0


def chosen_tasks(split: str = "", query: str = "") -> list[Task]:
    """Return the tasks of ``split`` (all, where empty) that hold every word of ``query``.

    Raises:
        MisuseError: there is no such split.
    """
    if split and split not in SPLITS:
        raise MisuseError(f"Unknown split {split!r}.", allowed=", ".join(SPLITS) + ".", action="Name one of these.")
    words = query.casefold().split()
    return [
        task
        for task in TaskCatalog(task_roots()).list()
        if (not split or task.facts.split == split)
        and all(word in f"{task.facts.id} {task.facts.title} {task.facts.operator}".casefold() for word in words)
    ]


def _count(found: list[Task]) -> str:
    splits = [task.facts.split for task in found]
    parts = ", ".join(f"{splits.count(split)} in {split}" for split in dict.fromkeys(splits))
    labelled = sum(bool(task.facts.labels) for task in found)
    return f"{len(found)} tasks ({parts}); {labelled} carry a label and are reported apart in scores."


def _line(task: Task) -> dict[str, Any]:
    facts = task.facts
    return {
        "id": facts.id,
        "split": facts.split,
        "tier": facts.tier,
        "operator": facts.operator,
        "title": facts.title,
        "labels": [label.name for label in facts.labels],
    }


def show_task(options: argparse.Namespace) -> int:
    """Print everything known about one task."""
    task = TaskCatalog(task_roots()).find(options.task)
    facts = task.facts
    work, moved = flops(facts), hbm_bytes(facts)
    roofline = {target.value: round(roofline_us(target, work, moved, facts.dtype), 3) for target in Target}
    audited = committed_table().get(facts.id)
    if options.json:
        print_json(
            {
                "ok": True,
                "summary": f"{facts.id}: {facts.title}.",
                "task": facts.model_dump(mode="json"),
                "input_specs": [str(spec) for spec in input_specs(facts)],
                "output_specs": [str(spec) for spec in output_specs(facts)],
                "flops": work,
                "bytes": moved,
                "roofline_us": roofline,
                "audit": audited.model_dump(mode="json") if audited else None,
                "task_sha256": task.sha256,
                "reference_source": task.reference.text,
            }
        )
        return 0
    print_lines(f"{facts.id}: {facts.title}  ({facts.split}, {facts.operator}, from {facts.origin})", "")
    print_lines(facts.semantics.strip(), "")
    for entry, spec in zip(facts.inputs, input_specs(facts), strict=True):
        print_lines(f"  in   {entry.name}: {spec}  {entry.role}{', dead' if entry.dead else ''}")
    for entry, spec in zip(facts.outputs, output_specs(facts), strict=True):
        print_lines(f"  out  {entry.name}: {spec}")
    print_lines("", f"work: {work:.4g} flops, {moved:.4g} bytes. {facts.work.note}".rstrip())
    print_lines("roofline: " + ", ".join(f"{name} {microseconds(time)}" for name, time in roofline.items()))
    for shape in facts.small_shapes:
        print_lines(f"tested at {shape.kind}: " + " ".join(f"{name}={size}" for name, size in shape.dims.items()))
    for time in facts.published:
        print_lines(f"published on {time.target}: {time.time_ms} ms, {time.what}; {time.source}. {time.note}")
    for label in facts.labels:
        print_lines(f"label {label.name}: {label.text}")
    for flaw in facts.flaws:
        print_lines(f"flaw: {flaw}")
    if audited and audited.classic_passes:
        print_lines("audit, published inputs and tolerance: " + ", ".join(audited.classic_passes) + " would pass")
    if options.source:
        print_lines("", task.reference.text)
    return 0
