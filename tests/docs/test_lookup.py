"""``lookup_docs``: names as they are, misspelt and described, on the installed packages and on a small index."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import load_settings
from maxkernel_tools.docs import build_index, guide_pages, index_name, search
from maxkernel_tools.records.docs import ApiEntry, LookupResult

ENTRIES = [
    ApiEntry(name="pl.BlockSpec", qualified="jax.experimental.pallas.BlockSpec", kind="class", doc="How to slice."),
    ApiEntry(name="pl.BlockSpec.replace", qualified="jax.experimental.pallas.BlockSpec.replace", kind="method"),
    ApiEntry(name="pltpu.make_async_copy", qualified="jax.experimental.pallas.tpu.make_async_copy", kind="function",
             signature="(src, dst, sem)", doc="Describes an asynchronous copy operation."),
    ApiEntry(name="lax.cumsum", qualified="jax.lax.cumsum", kind="function", doc="A cumulative sum along an axis."),
    ApiEntry(name="jnp.cumsum", qualified="jax.numpy.cumsum", kind="function", doc="Cumulative sum. " + "x" * 9000),
]  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("docs") / "index.sqlite3"
    build_index(path, ENTRIES, {"jax": "9.9"})
    return path


@pytest.mark.parametrize(
    ("query", "first", "match"),
    [
        ("pl.BlockSpec", "pl.BlockSpec", "exact"),
        ("blockspec", "pl.BlockSpec", "exact"),
        ("`pl.BlockSpec(...)`", "pl.BlockSpec", "exact"),
        ("jax.experimental.pallas.tpu.make_async_copy", "pltpu.make_async_copy", "exact"),
        ("how long does make_async_copy wait?", "pltpu.make_async_copy", "exact"),
        ("pltpu.make_asinc_copy", "pltpu.make_async_copy", "fuzzy"),
        ("BlokSpec", "pl.BlockSpec", "fuzzy"),
        ("start a dma", "pltpu.make_async_copy", "concept"),
        ("cumsum", "lax.cumsum", "exact"),
    ],
)
def test_a_name_is_found_however_it_is_asked_for(index: Path, query: str, first: str, match: str) -> None:
    entries, _, versions = search(index, query, 3)
    assert (entries[0].name, entries[0].match) == (first, match)
    assert versions == {"jax": "9.9"}


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        ("ragged edge mask reduction", "reductions"),
        ("vmem-oom", "memory-spaces"),
        ("online softmax", "attention"),
        ("double buffering by hand", "dma"),
        ("dimension semantics parallel", "pipelining"),
        ("block shape multiple of 128", "tiling"),
    ],
)
def test_the_guide_answers_in_words(index: Path, query: str, topic: str) -> None:
    _, passages, _ = search(index, query, 6)
    assert topic in {passage.topic for passage in passages[:2]}


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "x' OR 1=1 --",
        "NEAR(a b)",
        "* AND (",
        "\x00\ud800".encode("utf-8", "replace").decode(),
        "zzzzqqqq",
        "a" * 400,
    ],
)
def test_nothing_in_a_query_is_syntax(index: Path, query: str) -> None:
    entries, passages, _ = search(index, query, 20)
    assert len(entries) <= 20
    assert len(passages) <= 10


def test_long_documentation_is_shortened_and_says_so(index: Path) -> None:
    entries, _, _ = search(index, "jnp.cumsum", 1)
    assert len(entries[0].doc) < 3200
    assert entries[0].doc.endswith("more characters]")


def test_the_file_is_named_after_what_it_holds() -> None:
    assert index_name({"jax": "1"}) == index_name({"jax": "1"})
    assert index_name({"jax": "1"}) != index_name({"jax": "2"})


@pytest.mark.toolchain
def test_the_installed_jax_is_indexed_once_and_answers(portal, tmp_path: Path) -> None:
    settings = load_settings(
        environ={"HOME": str(tmp_path), "MAXKERNEL_HOME": str(tmp_path / "home")}, workspace=tmp_path
    )

    async def ask(*queries: str) -> list[LookupResult]:
        async with Lab.open(settings) as lab:
            results = [await lab.call("lookup_docs", {"query": query, "limit": 20}) for query in queries]
        assert all(isinstance(result, LookupResult) for result in results), results
        return results  # type: ignore[return-value]

    exact, fuzzy, concept, wrong = portal.call(
        ask, "pltpu.make_async_copy", "pltpu.emit_pipelin", "wait for a semaphore", "zzzzqqqq"
    )
    assert "sem" in exact.entries[0].signature
    assert exact.entries[0].doc
    assert exact.versions["jax"]
    assert fuzzy.entries[0].name == "pltpu.emit_pipeline"
    assert "pl.semaphore_wait" in {entry.name for entry in concept.entries}
    assert wrong.ok is False
    assert all(page.topic in wrong.summary for page in guide_pages())
    # Nothing of this machine in what is shown.
    assert str(tmp_path) not in exact.model_dump_json()
    assert not any(entry.defined_in.startswith("/") for result in (exact, concept) for entry in result.entries)
    indexes = list((tmp_path / "home" / "cache").iterdir())
    assert [path.suffix for path in indexes] == [".sqlite3"]
    written = indexes[0].stat().st_mtime_ns
    portal.call(ask, "pl.BlockSpec")
    assert indexes[0].stat().st_mtime_ns == written
