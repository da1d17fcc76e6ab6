"""What ``lookup_docs`` answers with: entries of the installed API and passages of the guide."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import ToolResult

Match = Literal["exact", "fuzzy", "concept"]
"""How an entry was found: by its name, by a name like it, by the words of its documentation."""


class ApiEntry(Record):
    """One public name of the installed jax.

    Attributes:
        name: as people write it, e.g. ``pltpu.make_async_copy``.
        qualified: importable, e.g. ``jax.experimental.pallas.tpu.make_async_copy``.
        kind: ``function``, ``class``, ``method``, ``enum`` or ``value``.
        signature: as Python reports it; empty where there is none.
        doc: the documentation, or its beginning.
        defined_in: file and line inside the distribution, where known.
        match: how it was found; empty in the index itself.
    """

    name: str
    qualified: str
    kind: str
    signature: str = ""
    doc: str = ""
    defined_in: str = ""
    match: Match = "exact"


class GuidePassage(Record):
    """One section of the guide.

    Attributes:
        topic: its page. uri: the whole page as a resource.
        title: page and heading. text: the section, or its beginning.
    """

    topic: str
    title: str
    uri: str
    text: str


class LookupResult(ToolResult):
    """What the installed documentation and the guide say.

    Attributes:
        entries: API names, best first. passages: of the guide, best first.
        versions: of the packages the entries are from.
    """

    entries: tuple[ApiEntry, ...] = ()
    passages: tuple[GuidePassage, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict[str, str])
