"""``diff_traces`` through the lab: a child process, allowed roots, artifacts, damage, memory, cancellation."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from benchmarks.large_captures import write_capture
from maxkernel_lab.answers import is_misuse
from maxkernel_lab.lab import Lab
from maxkernel_lab.registry import diff_tools
from maxkernel_lab.settings import Settings
from maxkernel_lab.store import RunRow, StageRow
from maxkernel_tools.records.diffs import DiffResult
from tests.diffing.test_schedules import SHEET
from tests.lab.doubles import ScriptedRuntime
from tests.traces.captures import Call, Core, trace_events, write_trace, write_xspace

pytestmark = pytest.mark.anyio


def cores(factor: float = 1.0) -> dict[int, Core]:
    core = Core()
    at = 0
    for index in range(40):
        length = int((1_000_000 + 100 * (index % 7)) * factor)
        core.calls.append(Call("fusion.1", at, length, scope="jit(f)/add"))
        at += length
    core.modules.append(("jit_f(1)", 0, at + 500))
    return {0: core}


@asynccontextmanager
async def _lab(tmp_path: Path) -> AsyncIterator[Lab]:
    settings = Settings(home=tmp_path / "home", workspace=tmp_path / "work", roots=(tmp_path / "work",))
    async with Lab.open(settings, opener=ScriptedRuntime().opened) as lab:
        yield lab


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    write_xspace(folder / "a.xplane.pb", cores())
    write_trace(folder / "b.trace.json.gz", trace_events(cores(1.1)))
    return folder


async def test_two_captures_give_one_answer_with_table_and_view(tmp_path: Path, work: Path) -> None:
    heard: list[str] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        heard.append(message)

    async with _lab(tmp_path) as lab:
        result = await lab.call("diff_traces", {"baseline": "a.xplane.pb", "candidate": "b.trace.json.gz"}, progress)
        assert isinstance(result, DiffResult), result
        assert result.comparable
        assert [(row.name, row.verdict) for row in result.rows] == [("fusion", "slower")]
        assert result.delta_us == pytest.approx(4.0, rel=0.01)
        store = lab.services.store
        assert result.run_id
        kept = {name: store.artifact_path(result.run_id, name) for name in ("diff.html", "diff.csv", "diff.json")}
        text = {name: found[0].read_text() for name, found in kept.items() if found}
        assert len(list(csv.DictReader(text["diff.csv"].splitlines()))) == 1
        assert json.loads(text["diff.json"])["delta_us"] == result.delta_us
        assert "fusion" in text["diff.html"]
        # What was compared names the run: the same pair again is the same run.
        again = await lab.call("diff_traces", {"baseline": "a.xplane.pb", "candidate": "b.trace.json.gz"})
        assert again.run_id == result.run_id
    assert heard[0] == "finding the captures"


async def test_only_allowed_folders_are_read(tmp_path: Path, work: Path) -> None:
    outside = write_xspace(tmp_path / "secret.xplane.pb", cores())
    (work / "link.xplane.pb").symlink_to(outside)
    inside = work / "folder"
    inside.mkdir()
    (inside / "run.xplane.pb").symlink_to(outside)
    async with _lab(tmp_path) as lab:
        for path in (str(outside), "../secret.xplane.pb", "link.xplane.pb", "folder"):
            result = await lab.call("diff_traces", {"baseline": "a.xplane.pb", "candidate": path})
            assert is_misuse(result), path
            assert "outside the allowed folders" in result.summary


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cut.xplane.pb", "cannot be parsed"),
        ("absent.xplane.pb", "No capture"),
        ("r-0123456789ab", "Compare like with like"),
        ("", "is empty"),
    ],
)
async def test_what_cannot_be_compared_is_refused(tmp_path: Path, work: Path, name: str, words: str) -> None:
    (work / "cut.xplane.pb").write_bytes((work / "a.xplane.pb").read_bytes()[:-9])
    async with _lab(tmp_path) as lab:
        result = await lab.call("diff_traces", {"baseline": "a.xplane.pb", "candidate": name})
    assert is_misuse(result)
    assert words in result.summary


async def test_unknown_runs_are_refused(tmp_path: Path, work: Path) -> None:
    async with _lab(tmp_path) as lab:
        result = await lab.call("diff_traces", {"baseline": "r-0123456789ab", "candidate": "r-0123456789ab~1"})
    assert is_misuse(result)
    assert "Unknown run" in result.summary


async def test_too_little_memory_is_said(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_tools, "_MEMORY_BYTES", 16 << 20)
    async with _lab(tmp_path) as lab:
        result = await lab.call("diff_traces", {"baseline": "a.xplane.pb", "candidate": "b.trace.json.gz"})
    assert not result.ok
    assert "16 MiB of memory" in result.summary


def _children(cache: Path) -> list[str]:
    """Return the command lines of processes that write into the lab's cache."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return [line for line in found if f"--out {cache}/diff-" in line]


async def test_cancelling_ends_the_child(tmp_path: Path, work: Path) -> None:
    # Large enough to be still read when the first word on progress is heard.
    write_capture(work / "large.xplane.pb", 300_000, seed=1)
    async with _lab(tmp_path) as lab:
        cache = lab.services.home.cache
        alive: list[str] = []

        async with anyio.create_task_group() as tasks:

            async def progress(done: float, total: float | None, message: str) -> None:
                if message != "finding the captures" and not alive:
                    alive.extend(_children(cache))
                    tasks.cancel_scope.cancel()

            arguments = {"baseline": "large.xplane.pb", "candidate": "large.xplane.pb"}
            tasks.start_soon(lab.call, "diff_traces", arguments, progress)
        assert len(alive) == 1
        assert _children(cache) == []
        assert list(cache.glob("diff-*")) == []


async def test_two_profiled_runs_and_two_compilers(tmp_path: Path, work: Path) -> None:
    async with _lab(tmp_path) as lab:
        store = lab.services.store

        def profiled(run_id: str, compiler: str, time_us: float) -> None:
            store.ensure_run(RunRow(run_id=run_id, label="k"))
            sheet = {**SHEET, "versions": {"jax": compiler}, "program": {**SHEET["program"], "time_us": time_us}}
            kept = store.put_artifact(
                run_id, f"schedule-v5e-{compiler}.json", "schedule-sheet", json.dumps(sheet).encode()
            )
            result = {"target": "v5e", "artifacts": [kept.model_dump(mode="json")]}
            store.add_stage(StageRow(run_id=run_id, stage="profile", ok=True, summary="", result=result, target="v5e"))

        profiled("r-00000000000a", "0.10.2", 20.0)
        profiled("r-00000000000b", "0.10.2", 15.0)
        profiled("r-00000000000b", "0.12.0", 18.0)
        result = await lab.call("diff_traces", {"baseline": "r-00000000000a", "candidate": "r-00000000000b@v5e"})
        assert isinstance(result, DiffResult), result
        assert (result.delta_us, result.time_source) == (-2.0, "schedule-model")
        assert "jax differs: 0.10.2 and 0.12.0." in result.parity
        assert result.run_id
        assert store.artifact_path(result.run_id, "diff.html")
        # One kernel under two compilers: ~1 is the profile by the compiler before the newest.
        result = await lab.call("diff_traces", {"baseline": "r-00000000000b~1", "candidate": "r-00000000000b"})
        assert isinstance(result, DiffResult), result
        assert result.delta_us == 3.0
        result = await lab.call("diff_traces", {"baseline": "r-00000000000b~2", "candidate": "r-00000000000b"})
        assert is_misuse(result)
        assert "has 2 profiles" in result.summary
        result = await lab.call("diff_traces", {"baseline": "r-00000000000b@v6e", "candidate": "r-00000000000b"})
        assert is_misuse(result)
        assert "no schedule profile on v6e" in result.summary
