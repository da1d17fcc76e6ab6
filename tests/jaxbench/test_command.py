"""The ``jaxbench`` command as a person runs it: output for both readers, exit codes, resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxbench import task_roots
from jaxbench.cli import main
from jaxbench.results import ResultRow, Results, read_rows
from maxkernel_tools.tasks import TaskCatalog

RIGHT = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def body(x_ref, scale_ref, o_ref):
    x = x_ref[...].astype(jnp.float32)
    y = x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)
    o_ref[...] = y.astype(o_ref.dtype) * scale_ref[...]


def workload(x, scale):
    B, S, D = x.shape
    rows = B * S
    block = min(rows, 128)
    out = pl.pallas_call(
        body,
        grid=(pl.cdiv(rows, block),),
        in_specs=[pl.BlockSpec((block, D), lambda i: (i, 0)), pl.BlockSpec((1, D), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((block, D), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((rows, D), x.dtype),
    )(x.reshape(rows, D), scale[None])
    return out.reshape(B, S, D)
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_list_shows_all_with_split_and_labels(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = run(capsys, "list")
    assert code == 0
    assert answer["total"] == len(answer["tasks"]) >= 54
    splits = [line["split"] for line in answer["tasks"]]
    assert splits.count("jaxbench") == 50
    assert splits.count("models") >= 4
    dead = next(line for line in answer["tasks"] if line["id"].startswith("26k"))
    assert dead["labels"] == ["dead-algebra"]

    assert main(["list", "--split", "models"]) == 0
    text = capsys.readouterr().out
    assert "2m_Gated_DeltaNet" in text
    assert "8p_GEMM" not in text


def test_list_filters_by_words(capsys: pytest.CaptureFixture[str]) -> None:
    _, answer = run(capsys, "list", "paged attention")
    assert [line["id"][:2] for line in answer["tasks"]] == ["6p", "7p", "3m"]


def test_show_tells_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = run(capsys, "show", "19k")
    assert code == 0
    assert answer["task"]["id"] == "19k_Matmul_Subtract_Multiply_ReLU"
    assert answer["input_specs"] == ["bf16[4096,8192]", "bf16[8192,8192]", "bf16[8192]"]
    assert answer["roofline_us"]["v6e"] == pytest.approx(598.9, rel=0.01)

    assert main(["show", "26k"]) == 0
    text = capsys.readouterr().out
    assert "label dead-algebra" in text
    assert "published on v6e: 0.6856 ms" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "8p_GEM"], "Did you mean 8p_GEMM"),
        (["list", "--split", "nope"], "jaxbench, models"),
        (["run"], "No task was given"),
        (["run", "8p", "--all"], "one of them"),
        (["run", "8p", "--target", "v99"], "v6e"),
        (["score", "absent.json"], "cannot be read as results"),
        (["evaluate", "8p", "--kernel", "absent.py"], "not a file"),
        (["evaluate", "8p", "--kernel", "absent.py", "--mode", "classic"], "--mode hardened"),
    ],
)
def test_misuse_is_exit_code_2_with_a_way_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAXKERNEL_HOME", str(tmp_path / "home"))
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_score_reports_labelled_tasks_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    results = Results(tmp_path)
    common = {"split": "jaxbench", "subject": "kernel", "time_source": "schedule-model", "significant": True}
    results.put(ResultRow.model_validate({"task": "8p_GEMM", "verdict": "correct", "speedup": 2.0, **common}))
    dead = {"task": "26k_X", "verdict": "correct", "speedup": 50.0, "labels": "dead-algebra", **common}
    results.put(ResultRow.model_validate(dead))
    code, answer = run(capsys, "score", str(tmp_path))
    assert code == 0
    assert answer["all"]["geomean_raw"] == pytest.approx(10.0)
    assert answer["unlabelled"]["geomean_raw"] == pytest.approx(2.0)
    assert answer["labelled"]["tasks"] == 1

    assert main(["score", str(tmp_path / "results.csv")]) == 0
    text = capsys.readouterr().out
    assert "without labelled" in text
    assert "not on measurements" in text


def test_score_without_a_graded_kernel_is_exit_code_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Results(tmp_path).put(ResultRow(task="8p_GEMM", split="jaxbench"))
    assert main(["score", str(tmp_path)]) == 1
    assert "jaxbench evaluate" in capsys.readouterr().out


@pytest.mark.toolchain
def test_run_writes_both_files_and_resumes(capsys: pytest.CaptureFixture[str], tmp_path: Path, lab_home: Path) -> None:
    common = ("--target", "v6e", "--output", str(tmp_path), "--home", str(lab_home))
    code, answer = run(capsys, "run", "12p", *common)
    assert code == 0
    row = read_rows(tmp_path / "results.csv")[0]
    assert (row.task, row.benchmark, row.split, row.mode) == ("12p_RMSNorm", "jaxbench", "jaxbench", "hardened")
    assert row.time_source == "schedule-model"
    assert row.time_us is not None
    assert row.roofline_us is not None
    assert row.time_us >= 0.9 * row.roofline_us
    assert "not measured" in answer["summary"]

    results = Results.open(tmp_path)
    failed = row.model_copy(update={"task": "19k_Matmul_Subtract_Multiply_ReLU", "status": "failed"})
    results.put(failed.model_copy(update={"task_sha256": TaskCatalog(task_roots()).find("19k").sha256}))
    code, answer = run(capsys, "run", "12p", "19k", *common)
    assert code == 0
    assert "1 were done already" in answer["summary"]
    rows = {each.task: each for each in read_rows(tmp_path)}
    assert rows["12p_RMSNorm"] == row
    again = rows["19k_Matmul_Subtract_Multiply_ReLU"]
    assert again.status == "done"
    assert again.time_us == pytest.approx(again.published_us, rel=0.05)


@pytest.mark.toolchain
def test_evaluate_grades_with_the_labs_own_tools(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, lab_home: Path
) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(RIGHT.replace("+ 1e-5", "+ 1e-2"))
    common = ("--target", "v6e", "--output", str(tmp_path / "out"), "--home", str(lab_home))

    code, answer = run(capsys, "evaluate", "12p", "--kernel", str(wrong), *common)
    assert code == 1
    assert answer["row"]["verdict"] == "incorrect"
    assert answer["profile"] is None

    code, answer = run(capsys, "evaluate", "12p", "--kernel", str(right), *common)
    assert answer["row"]["verdict"] == "correct", answer["summary"]
    assert code == 0
    assert answer["test"]["verdict"] == "correct"
    assert answer["row"]["speedup"] == answer["profile"]["speedup"]["value"]
    assert answer["row"]["time_source"] == "schedule-model"

    code, answer = run(capsys, "score", str(tmp_path / "out"))
    assert code == 0
    assert (answer["all"]["tasks"], answer["all"]["correct"]) == (1, 1)
