"""What a tool is to the lab, and what its handler is given. Faces read this; tools do not know the faces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import model_validator

from maxkernel_tools.context import Progress
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import ToolResult

if TYPE_CHECKING:
    from pathlib import Path

    from maxkernel_lab.home import Home
    from maxkernel_lab.hosting import HostedRuntime
    from maxkernel_lab.jobs import JobKeeper
    from maxkernel_lab.settings import Settings
    from maxkernel_lab.store import RunStore
    from maxkernel_tools.tasks import TaskCatalog


class Arguments(Record):
    """Flat arguments of a tool: every field a scalar, a list of text, or a mapping of names to scalars.

    An empty text or list means "not given": plain types keep the JSON schema free of unions, which several clients
    cannot show. A null counts as not given, and one text where a list is meant as a list of one.
    """

    @model_validator(mode="before")
    @classmethod
    def _lenient(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given: dict[str, Any] = {}
        for name, value in cast("dict[str, Any]", data).items():
            field = cls.model_fields.get(name)
            if field is not None and value is None and not field.is_required():
                continue
            is_list = field is not None and str(field.annotation).startswith("tuple")
            given[name] = (value,) if is_list and isinstance(value, str) else value
        return given


@dataclass(frozen=True)
class Services:
    """What handlers work with.

    Attributes:
        runtime: where jax runs; on a machine that has no compiler each use says so.
        catalog: the tasks of the face's roots and the user's own.
        benchmark_roots: the face's roots, whose tasks belong to its benchmark.
    """

    settings: Settings
    home: Home
    store: RunStore
    catalog: TaskCatalog
    runtime: HostedRuntime
    jobs: JobKeeper
    benchmark_roots: Sequence[Path] = ()


Handler = Callable[[Services, Any, Progress], Awaitable[ToolResult]]
"""``await handler(services, arguments, progress)``; ``arguments`` is an instance of the tool's own model."""


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        name: fixed by the tool contract.
        description: what a model reads to choose it.
        arguments: model of its arguments. result: model of its answer.
        long: it may take longer than one call may block, and then goes on as a job.
        read_only: it changes nothing a user has. idempotent: calling it twice is like calling it once.
        open_world: it may reach beyond this machine.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[ToolResult]
    handler: Handler
    long: bool = False
    read_only: bool = True
    idempotent: bool = True
    open_world: bool = False
