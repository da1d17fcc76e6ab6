"""Resources: runs and their artifacts, in pages; tasks; the guide; chips. Computes nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError

from maxkernel_lab.budget import cut
from maxkernel_lab.lab import Lab
from maxkernel_lab.registry.run_tools import read_run
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.targets import Target, parse_target

PAGE_CHARS: Final = 15_000
"""Characters of text per page: with its envelope a page stays under the 20 kB a tool result may have."""
PAGE_BYTES: Final = 12_000
_LISTED: Final = 50
_LISTED_RUNS: Final = 200
_TEXT_SUFFIXES: Final = {
    ".py": "text/x-python",
    ".json": "application/json",
    ".txt": "text/plain",
    ".hlo": "text/plain",
    ".mlir": "text/plain",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".log": "text/plain",
}


def list_templates() -> list[types.ResourceTemplate]:
    """Return the templates of everything that can be read."""
    return [
        types.ResourceTemplate(
            name="artifact",
            uri_template="maxkernel://runs/{run_id}/{artifact}{?page}",
            description="An artifact of a run, as its result names it; long ones in pages counted from 1.",
        ),
        types.ResourceTemplate(
            name="run",
            uri_template="maxkernel://runs/{run_id}",
            description="The record of a run, as JSON.",
            mime_type="application/json",
        ),
        types.ResourceTemplate(
            name="guide",
            uri_template="maxkernel://guide/{topic}",
            description="A page of the guide to TPU kernels.",
            mime_type="text/markdown",
        ),
        types.ResourceTemplate(
            name="task",
            uri_template="maxkernel://tasks/{id}",
            description="All facts of a task, as JSON.",
            mime_type="application/json",
        ),
        types.ResourceTemplate(
            name="chip",
            uri_template="maxkernel://chips/{target}",
            description="Published figures of a TPU generation, as JSON with their sources.",
            mime_type="application/json",
        ),
    ]


async def read_resource(lab: Lab, uri: str) -> types.ReadResourceResult:
    """Return what lies under ``uri``.

    Raises:
        MCPError: there is nothing; the message says what there is.
    """
    parts = urlsplit(uri)
    path = [unquote(part) for part in parts.path.split("/") if part]
    query = parse_qs(parts.query)
    if parts.scheme != "maxkernel":
        raise _missing(uri, "Resources start with maxkernel://.")
    if parts.netloc == "runs" and len(path) == 2:
        return await _artifact(lab, uri, path[0], path[1], _page(uri, query.get("page", ["1"])[0]))
    try:
        if parts.netloc == "runs" and len(path) == 1:
            record = await anyio.to_thread.run_sync(read_run, lab.services, path[0])
            return _json(uri, cut(record.model_dump(mode="json"), None))
        if parts.netloc == "guide" and len(path) == 1:
            return _guide(uri, path[0])
        if parts.netloc == "tasks" and len(path) == 1:
            task = await anyio.to_thread.run_sync(lab.services.catalog.find, path[0].replace("/", ""))
            return _json(uri, task.facts.model_dump(mode="json"))
        if parts.netloc == "chips" and len(path) == 1:
            return _json(uri, _chip(path[0]))
    except MisuseError as error:
        raise _missing(uri, str(error)) from None
    raise _missing(
        uri, "There are runs/{run_id}, runs/{run_id}/{artifact}, tasks/{id}, guide/{topic} and chips/{target}."
    )


async def _artifact(lab: Lab, uri: str, run_id: str, name: str, page: int) -> types.ReadResourceResult:
    found = await anyio.to_thread.run_sync(lab.services.store.artifact_path, run_id, name)
    if found is None:
        have = await anyio.to_thread.run_sync(lab.services.store.artifacts, run_id)
        names = ", ".join(artifact.uri for artifact in have) or "none; see list_runs for runs"
        raise _missing(uri, f"The run's artifacts: {names}.")
    path, _ = found
    base = uri.split("?", 1)[0]
    return await anyio.to_thread.run_sync(_read_page, path, base, name, page)


def _read_page(path: Path, base: str, name: str, page: int) -> types.ReadResourceResult:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MCPError(code=types.INTERNAL_ERROR, message=f"The artifact cannot be read: {error.strerror}.") from error
    mime = _TEXT_SUFFIXES.get(Path(name).suffix, "text/plain")
    try:
        text: str | None = data.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    size, step = (len(text), PAGE_CHARS) if text is not None else (len(data), PAGE_BYTES)
    pages = max(1, -(-size // step))
    if page > pages:
        raise _missing(f"{base}?page={page}", f"It has {pages} pages.")
    start = (page - 1) * step
    following = f"{base}?page={page + 1}" if page < pages else None
    meta = {"page": page, "pages": pages, "bytes": len(data), "next": following}
    uri = base if pages == 1 else f"{base}?page={page}"
    contents: list[types.TextResourceContents | types.BlobResourceContents] = []
    if text is not None:
        part = text[start : start + step]
        contents.append(types.TextResourceContents(uri=uri, mime_type=mime, text=part, _meta=meta))
    else:
        blob = base64.b64encode(data[start : start + step]).decode()
        contents.append(
            types.BlobResourceContents(uri=uri, mime_type="application/octet-stream", blob=blob, _meta=meta)
        )
    if pages > 1:
        # Said in the content too: clients that show no metadata would take page 1 for the whole.
        words = f"Page {page} of {pages}." + (f" Next: {following}" if following else "")
        contents.append(types.TextResourceContents(uri=f"{base}?page={page}#note", mime_type="text/plain", text=words))
    return types.ReadResourceResult(contents=contents)


async def list_resources(lab: Lab, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of what can be read by name: the guide, chips, tasks, and the newest runs.

    Raises:
        MCPError: ``cursor`` is not one of ours.
    """
    start = 0
    if cursor is not None:
        if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
            raise MCPError(code=types.INVALID_PARAMS, message="The cursor is not one this server gave.")
        start = int(cursor)
    everything = await anyio.to_thread.run_sync(_everything, lab)
    page = everything[start : start + _LISTED]
    following = str(start + _LISTED) if start + _LISTED < len(everything) else None
    return types.ListResourcesResult(resources=page, next_cursor=following)


def _everything(lab: Lab) -> list[types.Resource]:
    from maxkernel_tools.docs import guide_pages  # noqa: PLC0415 - kept out of the server's start

    lines, _ = lab.services.store.list_runs(task=None, kind=None, verdict=None, limit=_LISTED_RUNS)
    markdown, data = "text/markdown", "application/json"
    return [
        *(types.Resource(name=p.topic, title=p.title, uri=p.uri, mime_type=markdown) for p in guide_pages()),
        *(
            types.Resource(name=t.value, title=f"TPU {t.value}", uri=f"maxkernel://chips/{t.value}", mime_type=data)
            for t in Target
        ),
        *(
            types.Resource(name=name, uri=f"maxkernel://tasks/{name}", mime_type=data)
            for name in lab.services.catalog.ids()
        ),
        *(
            types.Resource(
                name=line.run_id, title=line.task or line.kind, uri=f"maxkernel://runs/{line.run_id}", mime_type=data
            )
            for line in lines
        ),
    ]


def _guide(uri: str, topic: str) -> types.ReadResourceResult:
    from maxkernel_tools.docs import guide_page  # noqa: PLC0415 - kept out of the server's start

    text = guide_page(topic).text
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type="text/markdown", text=text)]
    )


def _chip(name: str) -> dict[str, object]:
    from maxkernel_tools.chips import chip  # noqa: PLC0415 - kept out of the server's start

    return chip(parse_target(name)).model_dump(mode="json")


def _json(uri: str, value: dict[str, object]) -> types.ReadResourceResult:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type="application/json", text=text)]
    )


def _page(uri: str, text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise _missing(uri, "page is a number from 1.")
    return int(text)


def _missing(uri: str, message: str) -> MCPError:
    return MCPError(code=types.INVALID_PARAMS, message=f"Nothing at {uri[:300]}. {message}", data={"uri": uri[:300]})
