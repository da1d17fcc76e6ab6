"""Reading a task folder: what it gives, and that each mistake is named with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.tasks import TaskCatalog, check_dims, flops, hbm_bytes, input_specs, load_task, output_specs

TOML = """
id = "my_scale"
title = "Scale rows"
operator = "elementwise"
semantics = "y = x * s"
rules = ["D % 8 == 0"]
fixed_dims = ["D"]

[dims]
B = 64
D = 256

[[inputs]]
name = "x"
shape = ["B", "D"]

[[inputs]]
name = "lengths"
shape = ["B"]
dtype = "s32"
role = "metadata"

[[outputs]]
name = "y"
shape = ["B", "D"]

[[small_shapes]]
kind = "aligned"
dims = { B = 8, D = 256 }

[work]
flops = "B*D"
bytes = "ITEM*2*B*D + 4*B"
"""
REFERENCE = "def workload(x, lengths):\n    return x * 2\n"


def make(folder: Path, toml: str = TOML, reference: str = REFERENCE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "task.toml").write_text(toml)
    (folder / "reference.py").write_text(reference)
    return folder


def test_a_task_of_ones_own(tmp_path: Path) -> None:
    task = load_task(make(tmp_path / "mine"))
    facts = task.facts

    assert [str(spec) for spec in input_specs(facts)] == ["bf16[64,256]", "s32[64]"]
    assert [str(spec) for spec in input_specs(facts, {"B": 8, "D": 256}, "f32")] == ["f32[8,256]", "s32[8]"]
    assert [str(spec) for spec in output_specs(facts)] == ["bf16[64,256]"]
    assert flops(facts) == 64 * 256
    assert hbm_bytes(facts) == 2 * 2 * 64 * 256 + 4 * 64
    assert hbm_bytes(facts, dtype="f32") == 2 * hbm_bytes(facts) - 4 * 64
    assert facts.split == "user"
    assert task.reference.text == REFERENCE


def test_dims_are_checked_against_rules_and_fixed_dims(tmp_path: Path) -> None:
    facts = load_task(make(tmp_path / "mine")).facts

    assert check_dims(facts, {"B": 3, "D": 256}) is None
    assert "fixed" in (check_dims(facts, {"B": 3, "D": 128}) or "")
    assert "B = 0" in (check_dims(facts, {"B": 0, "D": 256}) or "")
    assert "dims are B, D" in (check_dims(facts, {"B": 3}) or "")
    free = facts.model_copy(update={"fixed_dims": ()})
    assert "D % 8 == 0" in (check_dims(free, {"B": 3, "D": 12}) or "")


def test_the_hash_covers_both_files(tmp_path: Path) -> None:
    hashes = {
        load_task(make(tmp_path / name, toml, reference)).sha256
        for name, toml, reference in (
            ("a", TOML, REFERENCE),
            ("b", TOML + "\n", REFERENCE),
            ("c", TOML, REFERENCE + "\n"),
        )
    }
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('title = "Scale rows"\n', "", "the key title is missing"),
        ("[work]", "colour = 3\n[work]", "colour is unknown"),
        ('title = "Scale rows"', 'titel = "Scale rows"', "the key title is missing"),
        ("B = 64", 'B = "many"', "dims.B"),
        ('shape = ["B", "D"]', 'shape = ["B", "Q"]', "names 'Q'"),
        ('shape = ["B", "D"]', 'shape = ["B - 8"]', "not positive"),
        ('flops = "B*D"', 'flops = "B^D"', "work.flops"),
        ('bytes = "ITEM*2*B*D + 4*B"', 'bytes = "open(B)"', "work.bytes"),
        ('dtype = "s32"', 'dtype = "int32"', "'int32'"),
        ("dims = { B = 8, D = 256 }", "dims = { B = 8 }", "small_shapes[0].dims"),
        ("dims = { B = 8, D = 256 }", "dims = { B = 8, D = 128 }", "D is fixed"),
        ('kind = "aligned"', 'kind = "big"', "small_shapes[0].kind"),
        ('rules = ["D % 8 == 0"]', 'rules = ["D % 8"]', "rules"),
        ('rules = ["D % 8 == 0"]', 'rules = ["D < 8"]', "is broken"),
        ('fixed_dims = ["D"]', 'fixed_dims = ["E"]', "fixed_dims"),
        ("[dims]", "[dims", "not TOML"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(tmp_path: Path, old: str, new: str, named: str) -> None:
    assert old in TOML
    folder = make(tmp_path / "mine", TOML.replace(old, new, 1))
    with pytest.raises(MisuseError) as caught:
        load_task(folder)
    assert str(folder / "task.toml") in str(caught.value)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ("def f(x):\n    return x\n", "defines f"),
        ("", "no function"),
        ("def workload(x:\n", "line 1"),
    ],
)
def test_a_reference_without_workload_is_refused(tmp_path: Path, reference: str, named: str) -> None:
    folder = make(tmp_path / "mine", reference=reference)
    with pytest.raises(MisuseError, match=named):
        load_task(folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(MisuseError, match=r"task\.toml does not exist"):
        load_task(tmp_path / "mine")


def test_the_catalog_finds_by_id_number_and_folder(tmp_path: Path) -> None:
    make(tmp_path / "8p_GEMM", TOML.replace("my_scale", "8p_GEMM"))
    make(tmp_path / "12p_Norm", TOML.replace("my_scale", "12p_Norm"))
    catalog = TaskCatalog((tmp_path, tmp_path / "absent"))

    assert catalog.ids() == ("8p_GEMM", "12p_Norm")
    assert catalog.find("8P_gemm").facts.id == "8p_GEMM"
    assert catalog.find("12p").facts.id == "12p_Norm"
    assert catalog.find(tmp_path / "8p_GEMM").facts.id == "8p_GEMM"
    for wrong, near in (("8p_GEM", "8p_GEMM"), ("norm", "12p_Norm")):
        with pytest.raises(MisuseError, match=rf"Did you mean.*{near}"):
            catalog.find(wrong)
    with pytest.raises(MisuseError, match="list_tasks"):
        catalog.find("zzzz")


def test_the_catalog_reads_a_changed_file_again(tmp_path: Path) -> None:
    folder = make(tmp_path / "mine")
    catalog = TaskCatalog((tmp_path,))
    before = catalog.find("mine")
    assert catalog.find("mine") is before
    make(folder, TOML.replace("Scale rows", "Scale all the rows"))
    assert catalog.find("mine").facts.title == "Scale all the rows"
