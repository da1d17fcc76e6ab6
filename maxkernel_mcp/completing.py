"""Completion of what a person types into a prompt or a resource template: tasks, targets, runs, artifacts, topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import anyio.to_thread
import mcp_types as types

from maxkernel_lab.lab import Lab
from maxkernel_tools.records.targets import Target

SHOWN: Final = 100
"""The protocol's own limit."""
_RECENT_RUNS: Final = 200


async def complete(lab: Lab, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Return values that fit what was typed: those that start with it first, then those that contain it."""
    context = dict(params.context.arguments or {}) if params.context else {}
    name, typed = params.argument.name, params.argument.value.casefold()
    if isinstance(params.ref, types.ResourceTemplateReference) and name == "id":
        name = "task"
    options = await anyio.to_thread.run_sync(_options, lab, name, context)
    starting = [option for option in options if option.casefold().startswith(typed)]
    inside = [option for option in options if typed in option.casefold() and option not in set(starting)]
    found = starting + inside
    return types.CompleteResult(
        completion=types.Completion(values=found[:SHOWN], total=len(found), has_more=len(found) > SHOWN)
    )


def _options(lab: Lab, name: str, context: Mapping[str, str]) -> list[str]:
    sources: dict[str, Callable[[], list[str]]] = {
        "task": lambda: list(lab.services.catalog.ids()),
        "target": lambda: [target.value for target in Target],
        "topic": _topics,
        "run_id": lambda: _runs(lab),
        "artifact": lambda: _artifacts(lab, context.get("run_id", "")),
        "page": list,
    }
    return sources.get(name, list[str])()


def _topics() -> list[str]:
    from maxkernel_tools.docs import guide_pages  # noqa: PLC0415 - kept out of the server's start

    return [page.topic for page in guide_pages()]


def _runs(lab: Lab) -> list[str]:
    lines, _ = lab.services.store.list_runs(task=None, kind=None, verdict=None, limit=_RECENT_RUNS)
    return [line.run_id for line in lines]


def _artifacts(lab: Lab, run_id: str) -> list[str]:
    return [artifact.uri.rsplit("/", 1)[-1] for artifact in lab.services.store.artifacts(run_id)]
