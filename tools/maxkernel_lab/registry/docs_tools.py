"""Handler of ``lookup_docs``: the installed API and our guide."""

from __future__ import annotations

import anyio.to_thread

from maxkernel_lab.documentation import documentation_index
from maxkernel_lab.registry.arguments import LookupDocsArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_tools.context import Progress
from maxkernel_tools.docs import guide_pages, search
from maxkernel_tools.errors import MachineryError, MisuseError
from maxkernel_tools.records.docs import ApiEntry, GuidePassage, LookupResult


async def lookup_docs(services: Services, arguments: LookupDocsArguments, progress: Progress) -> LookupResult:
    """Handle ``lookup_docs``."""
    query = arguments.query.strip()
    if not query:
        raise MisuseError(
            "The query is empty.",
            allowed="a name such as pl.BlockSpec, or words.",
            action="Say what you look for; the guide's pages are "
            + ", ".join(page.topic for page in guide_pages())
            + ".",
        )
    await progress(0, None, "the index of the installed documentation")
    path = await documentation_index(services.home)
    try:
        entries, passages, versions = await anyio.to_thread.run_sync(search, path, query, arguments.limit)
    except OSError as error:
        raise MachineryError(f"{error}.") from error
    return LookupResult(
        ok=bool(entries or passages),
        summary=_summary(query, entries, passages, versions),
        entries=entries,
        passages=passages,
        versions=versions,
    )


def _summary(
    query: str, entries: tuple[ApiEntry, ...], passages: tuple[GuidePassage, ...], versions: dict[str, str]
) -> str:
    if not entries and not passages:
        pages = ", ".join(page.topic for page in guide_pages())
        return f"Nothing matches {query[:80]!r}. The guide's pages: {pages}."
    source = f"jax {versions['jax']}" if "jax" in versions else "the guide alone (no jax on this machine)"
    exact = [entry.name for entry in entries if entry.match == "exact"]
    alike = [entry.name for entry in entries if entry.match == "fuzzy"]
    if exact:
        lead = f"{exact[0]} in {source}."
    elif alike:
        lead = f"No name {query[:80]!r} in {source}; alike: {', '.join(alike[:4])}."
    else:
        lead = f"{len(entries)} entries of {source}" + (f", first {entries[0].name}." if entries else ".")
    return lead + (f" Guide: {passages[0].title}." if passages else "")
