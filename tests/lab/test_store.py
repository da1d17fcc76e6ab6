"""The run store: stages join under one run, migrations, and what is left after kill -9."""

from __future__ import annotations

import csv
import hashlib
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from maxkernel_lab.home import Home
from maxkernel_lab.store import RunRow, RunStore, StageRow, run_id_of
from maxkernel_lab.store.csv_report import write_results_csv
from maxkernel_lab.store.database import MIGRATIONS, Database
from maxkernel_tools.context import KernelCall, Workload
from maxkernel_tools.errors import MachineryError
from maxkernel_tools.records import ArraySpec, KernelSource
from tests.lab.processes import python_environment


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").ensure()


def _stage(run_id: str, stage: str, **more: object) -> StageRow:
    return StageRow(run_id=run_id, stage=stage, ok=True, summary=f"{stage} done", result={"n": 1}, **more)  # type: ignore[arg-type]


def test_stages_of_one_candidate_join_in_one_record(home: Home) -> None:
    store = RunStore(home)
    store.ensure_run(RunRow(run_id="r-1", label="8p_GEMM", task="8p_GEMM", benchmark="jaxbench", split="jaxbench"))
    store.ensure_run(RunRow(run_id="r-1", label="8p_GEMM", task="8p_GEMM"))
    store.add_stage(_stage("r-1", "compile"))
    store.add_stage(_stage("r-1", "test", verdict="correct", mode="hardened"))
    store.add_stage(_stage("r-1", "profile", target="v6e", time_us=12.5, time_source="schedule-model", speedup=1.5))
    lines, total = store.list_runs(task="8p_GEMM", kind=None, verdict="correct", limit=10)
    assert total == 1
    line = lines[0]
    assert (line.run_id, line.verdict, line.time_us, line.time_source) == ("r-1", "correct", 12.5, "schedule-model")
    assert [stage.stage for stage in store.stages("r-1")] == ["compile", "test", "profile"]
    assert store.list_runs(task=None, kind=None, verdict="incorrect", limit=10) == ((), 0)


def test_results_csv_starts_with_task_benchmark_split_mode(home: Home) -> None:
    store = RunStore(home)
    store.ensure_run(RunRow(run_id="r-1", label="8p_GEMM", task="8p_GEMM", benchmark="jaxbench", split="jaxbench"))
    store.add_stage(_stage("r-1", "test", verdict="correct", mode="hardened"))
    store.ensure_run(RunRow(run_id="r-task", label="8p_GEMM", kind="task", task="8p_GEMM"))
    assert write_results_csv(store, home.results_csv) == 1
    with home.results_csv.open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0][:4] == ["task", "benchmark", "split", "mode"]
    assert rows[1][:5] == ["8p_GEMM", "jaxbench", "jaxbench", "hardened", "r-1"]


def test_artifacts_are_kept_by_content_and_named_safely(home: Home, tmp_path: Path) -> None:
    store = RunStore(home)
    store.ensure_run(RunRow(run_id="r-1", label="x"))
    first = store.put_artifact("r-1", "../../etc/pass wd", "text", b"hello")
    assert first.uri == "maxkernel://runs/r-1/etc_pass_wd"
    source = tmp_path / "big.bin"
    source.write_bytes(b"hello")
    second = store.put_artifact("r-1", "copy.bin", "binary", source)
    path, _ = store.artifact_path("r-1", "copy.bin") or (Path(), "")
    assert path.read_bytes() == b"hello"
    assert second.bytes == 5
    assert len([file for file in home.artifacts.rglob("*") if file.is_file()]) == 1
    assert store.artifact_path("r-1", "../store.sqlite3") is None


def test_a_candidates_id_depends_on_all_that_makes_it_one() -> None:
    def call(text: str = "a", params: dict[str, int] | None = None, spec: str = "f32[8]") -> KernelCall:
        inputs = (ArraySpec.parse(spec),)
        return KernelCall(
            kernel=KernelSource(text=text), workload=Workload(inputs=inputs, label=spec), params=dict(params or {})
        )

    base = run_id_of(call())
    assert base == run_id_of(call())
    others = {run_id_of(call(text="b")), run_id_of(call(params={"B": 1})), run_id_of(call(spec="f32[9]"))}
    assert len(others | {base}) == 4


def test_an_older_store_is_migrated_and_a_newer_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    database = Database(path)
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO runs (run_id, created, kind, label, inputs, params, config)"
            " VALUES ('r-1', '', 'candidate', 'x', '[]', '{}', '{}')"
        )
    database.close()
    newer = Database(path, migrations=(*MIGRATIONS, "ALTER TABLE runs ADD COLUMN note TEXT DEFAULT 'none';"))
    assert [row["note"] for row in newer.read("SELECT note FROM runs")] == ["none"]
    newer.close()
    with pytest.raises(MachineryError, match="Upgrade maxkernel-mcp"):
        Database(path)


def test_a_failed_migration_leaves_the_old_schema(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    Database(path).close()
    broken = (*MIGRATIONS, "ALTER TABLE runs ADD COLUMN note TEXT; SELECT * FROM no_such_table;")
    with pytest.raises(MachineryError):
        Database(path, migrations=broken)
    store = Database(path)
    assert "note" not in {row["name"] for row in store.read("PRAGMA table_info(runs)")}


_WRITER = """
import sys
from pathlib import Path
from maxkernel_lab.home import Home
from maxkernel_lab.store import RunRow, RunStore, StageRow
store = RunStore(Home(Path(sys.argv[1])).ensure())
number = 0
while True:
    run_id = f"r-{number % 5}"
    store.ensure_run(RunRow(run_id=run_id, label="x"))
    store.put_artifact(run_id, f"a-{number}.bin", "binary", bytes([number % 256]) * 50_000)
    store.add_stage(StageRow(run_id=run_id, stage="compile", ok=True, summary=str(number), result={"n": number}))
    print(number, flush=True)
    number += 1
"""


def test_nothing_that_was_finished_is_lost_to_kill_9(tmp_path: Path) -> None:
    root = tmp_path / "home"
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(root)], stdout=subprocess.PIPE, env=python_environment(), text=True
        )
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(12)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
        writer.wait(10)
        finished = {int(line) for line in lines if line.endswith("\n")}
        home = Home(root)
        with sqlite3.connect(home.database) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            kept = {int(row[0]) for row in connection.execute("SELECT summary FROM stages")}
            hashes = {row[0] for row in connection.execute("SELECT sha256 FROM artifacts")}
        assert finished <= kept
        store = RunStore(home)
        for digest in hashes:
            data = (home.artifacts / digest[:2] / digest).read_bytes()
            assert hashlib.sha256(data).hexdigest() == digest
        store.close()


def test_two_labs_write_the_same_store(home: Home) -> None:
    one, two = RunStore(home), RunStore(home)
    for number in range(20):
        store = (one, two)[number % 2]
        store.ensure_run(RunRow(run_id=f"r-{number}", label="x"))
    assert one.list_runs(task=None, kind=None, verdict=None, limit=50)[1] == 20
