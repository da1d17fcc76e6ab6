"""Each KernelBench reference against the same mathematics computed another way, in float64 NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from jaxbench import task_roots
from maxkernel_tools.tasks import Task, TaskCatalog
from tests.jaxbench.kernelbench_formulas import FORMULAS

CASES = [
    (task, kind, dtype)
    for task in FORMULAS
    for kind, dtype in (
        ("tiny", "f64"),
        ("ragged", "f32"),
        ("ragged", "bf16"),
    )
]
QUICK_COMPILE = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""Nearly all the time goes into compiling; the arrays are small."""
ROUNDING = {"f64": 1e-12, "f32": 2.0**-23, "bf16": 2.0**-8}
STEPS = {"f64": 1000.0, "f32": 128.0, "bf16": 24.0}
"""Allowed error in units of rounding of the dtype: some nominal steps, and sums of some hundred terms at f32."""


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """Inputs and outputs of every case, from one process that runs the references."""
    folder = tmp_path_factory.mktemp("references")
    catalog = TaskCatalog(task_roots())
    cases = []
    for name, kind, dtype, draw in ((*case, "hardened") for case in CASES):
        cases.append(_case(catalog.find(name), kind, dtype, draw))
    for name, draw in product(FORMULAS, ("classic", "original")):
        cases.append(_case(catalog.find(name), "tiny", "f32", draw))
    for name, dtype in product(("25k", "48k"), ("f32", "bf16")):
        cases.append(_case(catalog.find(name), "aligned", dtype, "classic"))
    (folder / "cases.json").write_text(json.dumps(cases))
    script = Path(__file__).with_name("evaluate_references.py")
    subprocess.run(
        [sys.executable, str(script), str(folder / "cases.json"), str(folder / "out.npz")],
        check=True,
        timeout=600,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": QUICK_COMPILE},
    )
    with np.load(folder / "out.npz") as arrays:
        return dict(arrays)


def _case(task: Task, kind: str, dtype: str, draw: str) -> dict[str, object]:
    return {
        "key": f"{task.facts.id.split('_')[0]}/{kind}/{dtype}" + ("" if draw == "hardened" else f"/{draw}"),
        "file": str(task.folder / "reference.py"),
        "dims": next(shape.dims for shape in task.facts.small_shapes if shape.kind == kind),
        "dtype": dtype,
        "draw": draw,
        "run": draw == "hardened" or kind == "aligned",
    }


@pytest.mark.parametrize(("task", "kind", "dtype"), CASES)
def test_reference_agrees_with_an_independent_formula(
    evaluated: dict[str, np.ndarray], task: str, kind: str, dtype: str
) -> None:
    key = f"{task}/{kind}/{dtype}"
    inputs = []
    while (name := f"{key}/in{len(inputs)}") in evaluated:
        inputs.append(evaluated[name])
    expected = FORMULAS[task](*inputs)
    found = evaluated[f"{key}/out"]

    assert found.shape == expected.shape
    assert len(set(evaluated[f"{key}/dtype"])) == 1, "the output does not have the dtype of the inputs"
    spread = float(expected.std())
    assert spread > 0
    allowed = STEPS[dtype] * ROUNDING[dtype] * (np.abs(expected) + spread)
    worst = float(np.max(np.abs(found - expected) / allowed))
    assert worst < 1, f"{worst:.3g} times the allowed error"


@pytest.mark.parametrize("task", FORMULAS)
def test_classic_inputs_are_what_the_task_says(evaluated: dict[str, np.ndarray], task: str) -> None:
    for position, entry in enumerate(TaskCatalog(task_roots()).find(task).facts.inputs):
        classic = evaluated[f"{task}/tiny/f32/classic/in{position}"]
        original = evaluated[f"{task}/tiny/f32/original/in{position}"]
        match entry.classic.split(",")[0]:
            case "uniform [0":
                assert classic.min() >= 0
                assert 0 < classic.std() < 0.4
            case "ones":
                assert np.all(classic == 1)
            case "zeros":
                assert np.all(classic == 0)
            case "0.02 * normal":
                assert 0 < np.abs(classic).max() < 0.1
            case _:
                assert entry.classic.startswith("normal")
                assert np.abs(classic).max() > 0.2
        if "zeros in the original version" in entry.classic:
            assert np.all(original == 0)
        elif "in the original version" not in entry.classic:
            assert np.array_equal(original, classic)


def test_classic_draws_reproduce_published_figures(evaluated: dict[str, np.ndarray]) -> None:
    """The scalar bias of 48k, and the mean of beta, which as published is all of 25k's output."""
    assert evaluated["48k/aligned/bf16/classic/in7"] == pytest.approx(-0.0046, abs=5e-5)
    assert evaluated["48k/aligned/f32/classic/in7"] == pytest.approx(0.0040, abs=5e-5)
    assert evaluated["25k/aligned/bf16/classic/out"] == pytest.approx(-0.0113, abs=5e-4)
    assert evaluated["25k/aligned/f32/classic/out"] == pytest.approx(-0.0053, abs=5e-5)
