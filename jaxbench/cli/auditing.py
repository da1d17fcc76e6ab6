"""``jaxbench audit``: try trivial solutions against the tasks, say what passes where, compare with the table."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator
from pathlib import Path

import anyio

from jaxbench import task_roots
from jaxbench.audit.auditing import AuditMode, audit_tasks, examined_dims
from jaxbench.audit.table import AuditTable, ModeAudit, TaskAudit, committed_table, read_table
from jaxbench.cli.printing import print_json, print_lines, print_table, progress_bar
from maxkernel_lab.locks import write_atomically
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.tasks import Task, TaskCatalog


def audit(options: argparse.Namespace) -> int:
    """Audit the tasks; 1 when an unlabelled trivial solution passes, an honest one does not, or the table differs."""
    catalog = TaskCatalog(task_roots())
    tasks = [catalog.find(name) for name in options.tasks] or catalog.list()
    modes: tuple[AuditMode, ...] = ("hardened", "classic") if options.mode == "both" else (options.mode,)
    output = Path(options.output) if options.output else None
    table = read_table(output) if output and output.is_file() else AuditTable()
    pending = [task for task in tasks if not _known(table, task, modes)]
    held = _Held(table, output)
    with progress_bar(len(pending), quiet=options.json) as advance, _unwrapped():

        async def report(task: Task, found: TaskAudit) -> None:
            held.add(found)
            advance(task.facts.id, 1)

        if pending:
            anyio.run(audit_tasks, pending, modes, options.jobs, report)
    return _answer(held.table, tasks, options)


class _Held:
    """The table so far, written after every task, so that an interrupted audit is taken up where it stopped."""

    def __init__(self, table: AuditTable, path: Path | None) -> None:
        self.table = table
        self._path = path

    def add(self, found: TaskAudit) -> None:
        self.table = self.table.merged(found)
        if self._path is not None:
            ordered = sorted(self.table.tasks, key=lambda audit: _order(audit.task))
            text = AuditTable(tasks=tuple(ordered)).model_dump_json(indent=1, exclude_defaults=True)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, (text + "\n").encode())


@contextlib.contextmanager
def _unwrapped() -> Generator[None]:
    """Raise the lab's own error in the place of the group it came out of the processes in."""
    try:
        yield
    except* MachineryError as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


def _order(task: str) -> tuple[str, int]:
    head = task.partition("_")[0]
    return (head[-1], int(head[:-1])) if head[:-1].isdigit() else ("~", 0)


def _known(table: AuditTable, task: Task, modes: tuple[AuditMode, ...]) -> bool:
    found = table.of(task.facts.id)
    if found is None or found.reference_sha256 != task.reference.sha256:
        return False
    held = [(getattr(found, mode), examined_dims(task.facts, mode)) for mode in modes]
    return all(part is not None and part.dims == dims for part, dims in held)


def _answer(table: AuditTable, tasks: list[Task], options: argparse.Namespace) -> int:
    audits = [(task, table.of(task.facts.id)) for task in tasks]
    found = [(task, audit) for task, audit in audits if audit is not None]
    leaks = {task.facts.id: audit.leaks(task.facts) for task, audit in found if audit.leaks(task.facts)}
    refused = [audit.task for _, audit in found for mode in (audit.hardened,) if mode is not None and not mode.honest]
    changed = [text for _, audit in found for text in _changes(audit)] if options.check else []
    ok = not leaks and not refused and not changed
    counts = _counts(found)
    if options.json:
        document = {"ok": ok, "summary": counts, "leaks": leaks, "honest_refused": refused, "changed": changed}
        print_json({**document, "tasks": [audit.model_dump(mode="json") for _, audit in found]})
        return 0 if ok else 1
    print_table(
        ("task", "label", "hardened lets pass", "published inputs and tolerance let pass"),
        [
            (
                audit.task,
                " ".join(audit.labels),
                ", ".join(audit.hardened.passes) if audit.hardened else "",
                _short(audit.classic_passes),
            )
            for _, audit in found
        ],
    )
    print_lines("", counts)
    print_lines(*(f"LEAK {task}: {', '.join(names)} pass and no label says why" for task, names in leaks.items()))
    print_lines(*(f"REFUSED {task}: an honest version that keeps f32 inside does not pass" for task in refused))
    print_lines(*changed)
    return 0 if ok else 1


def _short(names: tuple[str, ...]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _counts(found: list[tuple[Task, TaskAudit]]) -> str:
    def zeros(mode: str) -> int:
        parts: list[ModeAudit | None] = [getattr(audit, mode) or audit.classic for _, audit in found]
        return sum("zeros" in part.passes_flat for part in parts if part is not None)

    labelled = sum(bool(audit.labels) for _, audit in found)
    clean = sum(not audit.leaks(task.facts) for task, audit in found)
    text = (
        f"{len(found)} tasks: in {clean} no trivial solution passes hardened mode but by a label ({labelled} have one)."
    )
    if any(audit.classic for _, audit in found):
        text += (
            f" With published inputs and tolerance zeros pass {zeros('original')} tasks of the original version and "
            f"{zeros('classic')} of the fixed one."
        )
    return text


def _changes(audit: TaskAudit) -> list[str]:
    """Say where an audit differs from the committed one, so that inputs that let something in do not go unseen."""
    earlier = committed_table().get(audit.task)
    if earlier is None:
        return [f"CHANGED {audit.task}: not in the committed table"]
    texts: list[str] = []
    for name in ("hardened", "classic", "original"):
        now, then = getattr(audit, name), getattr(earlier, name)
        if now is None or then is None:
            continue
        for kind in ("passes", "passes_flat"):
            if name == "hardened" and kind == "passes_flat":
                continue
            came = sorted(set(getattr(now, kind)) - set(getattr(then, kind)))
            went = sorted(set(getattr(then, kind)) - set(getattr(now, kind)))
            if came or went:
                texts.append(f"CHANGED {audit.task} {name} {kind}: now passes {came}, no longer passes {went}")
    return texts
