"""The compile cache: whole entries or none, across labs, within its budget."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from maxkernel_lab.runtimes.cache import CompileCache, cache_key
from maxkernel_tools.records import Target
from maxkernel_tools.runtime import ChildReport, CompileReply, CompileRequest, RawError

VERSIONS = {"jax": "1", "jaxlib": "1", "libtpu": "1"}
REQUEST = CompileRequest(exported=b"abc", target=Target.V6E)
REPLY = CompileReply(
    child=ChildReport(ending="completed", wall_ms=5),
    ok=True,
    compile_ms=5,
    memory={"temp": 3},
    cost={"flops": 1.0},
    hlo_text="HloModule m\n",
    versions=VERSIONS,
)
KEY = cache_key(REQUEST, VERSIONS)


@pytest.fixture
def cache(tmp_path: Path) -> CompileCache:
    return CompileCache(tmp_path / "cache")


def dumps(folder: Path, text: str = "bundles") -> Path:
    folder.mkdir()
    (folder / "a-final_bundles.txt.gz").write_text(text)
    return folder


def entry(cache_root: Path) -> Path:
    (found,) = (cache_root / "cache" / "entries").glob("*/*")
    return found


def test_what_is_put_comes_back(cache: CompileCache, tmp_path: Path) -> None:
    assert cache.get(KEY) is None
    kept = cache.put(KEY, REPLY, dumps(tmp_path / "d"))
    found = cache.get(KEY)
    assert found is not None
    assert found.cached
    assert found.dump_dir == kept.dump_dir
    assert found.dump_dir is not None
    assert (found.dump_dir / "a-final_bundles.txt.gz").read_text() == "bundles"
    assert replace(found, cached=False, dump_dir=None, child=REPLY.child) == REPLY


def test_refusals_are_kept_too(cache: CompileCache) -> None:
    refusal = replace(REPLY, ok=False, error=RawError("XlaRuntimeError", "no", "compile"), hlo_text="")
    cache.put(KEY, refusal, None)
    found = cache.get(KEY)
    assert found is not None
    assert (found.ok, found.error, found.dump_dir) == (False, refusal.error, None)


def test_the_key_is_everything_that_bears_on_the_answer() -> None:
    others = [
        cache_key(replace(REQUEST, exported=b"abd"), VERSIONS),
        cache_key(replace(REQUEST, target=Target.V5E), VERSIONS),
        cache_key(replace(REQUEST, options={"a": "1"}), VERSIONS),
        cache_key(replace(REQUEST, dumps=False), VERSIONS),
        cache_key(REQUEST, {**VERSIONS, "libtpu": "2"}),
        cache_key(REQUEST, {**VERSIONS, "jax": "2"}),
    ]
    assert len({KEY, *others}) == 7
    assert cache_key(replace(REQUEST, cpu_s=1.0), VERSIONS) == KEY


@pytest.mark.parametrize(
    "name", ["manifest.json", "reply.json", "optimized-hlo.txt.gz", "dumps/a-final_bundles.txt.gz"]
)
@pytest.mark.parametrize("damage", ["truncate", "flip", "delete"])
def test_a_damaged_entry_is_removed_and_can_be_written_anew(
    cache: CompileCache, tmp_path: Path, name: str, damage: str
) -> None:
    cache.put(KEY, REPLY, dumps(tmp_path / "d"))
    path = entry(tmp_path) / name
    data = path.read_bytes()
    if damage == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        path.write_bytes(bytes([data[0] ^ 0xFF]) + data[1:])
    else:
        path.unlink()
    assert cache.get(KEY) is None
    cache.put(KEY, REPLY, dumps(tmp_path / "e"))
    assert cache.get(KEY) is not None


def test_the_first_of_two_labs_wins_and_both_get_an_answer(tmp_path: Path) -> None:
    labs = [CompileCache(tmp_path / "cache") for _ in range(2)]

    def work(number: int) -> int:
        for index in range(20):
            key = cache_key(replace(REQUEST, exported=bytes([index])), VERSIONS)
            labs[number].put(key, REPLY, dumps(tmp_path / f"l{number}-{index}"))
            assert labs[number].get(key) is not None
        return number

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2), timeout=60)) == [0, 1]
    assert len(list((tmp_path / "cache" / "entries").glob("*/*"))) == 20
    assert not list((tmp_path / "cache" / "staging").iterdir())


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "cache", budget_bytes=60_000)
    keys = [cache_key(replace(REQUEST, exported=bytes([index])), VERSIONS) for index in range(5)]
    for index, key in enumerate(keys):
        cache.put(key, REPLY, dumps(tmp_path / f"d{index}", text="x" * 20_000))
    for age, key in enumerate(reversed(keys)):
        (manifest,) = (tmp_path / "cache" / "entries").glob(f"*/{key}/manifest.json")
        os.utime(manifest, (1_000_000 - age, 1_000_000 - age))
    assert cache.get(keys[0]) is not None  # makes the oldest the youngest
    assert cache.trim() <= 48_000
    assert [cache.get(key) is not None for key in keys] == [True, False, False, False, True]


def test_entries_in_use_are_not_evicted(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "cache", budget_bytes=1)
    cache.put(KEY, REPLY, None)
    cache.trim()
    assert cache.get(KEY) is not None
