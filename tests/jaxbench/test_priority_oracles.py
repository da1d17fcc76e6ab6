"""Each priority and model reference against the same mathematics computed another way, in float64 NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxbench import task_roots
from maxkernel_tools.tasks import TaskCatalog
from tests.jaxbench.priority_formulas import FORMULAS

CASES = [
    (task, kind, dtype)
    for task in FORMULAS
    for kind, dtype in (("ragged", "f64"), ("tiny", "f64"), ("ragged", "f32"), ("ragged", "bf16"))
]
QUICK_COMPILE = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
ROUNDING = {"f64": 1e-12, "f32": 2.0**-23, "bf16": 2.0**-8}
STEPS = {"f64": 1000.0, "f32": 256.0, "bf16": 24.0}
"""Allowed error in units of rounding of the dtype: some nominal steps, and sums of some hundred terms at f32."""


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """Inputs and outputs of every case, from one process that runs the references."""
    folder = tmp_path_factory.mktemp("references")
    catalog = TaskCatalog(task_roots())
    cases = []
    for name, kind, dtype in CASES:
        task = catalog.find(name)
        dims = next(shape.dims for shape in task.facts.small_shapes if shape.kind == kind)
        file = str(task.folder / "reference.py")
        key = f"{name}/{kind}/{dtype}"
        cases.append({"key": key, "file": file, "dims": dims, "dtype": dtype, "draw": "hardened"})
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


@pytest.mark.parametrize(("task", "kind", "dtype"), CASES)
def test_reference_agrees_with_an_independent_formula(
    evaluated: dict[str, np.ndarray], task: str, kind: str, dtype: str
) -> None:
    key = f"{task}/{kind}/{dtype}"
    inputs = []
    while (name := f"{key}/in{len(inputs)}") in evaluated:
        inputs.append(evaluated[name])
    expected = FORMULAS[task](*inputs)
    first, *more = expected if isinstance(expected, tuple) else (expected,)

    for index, right in enumerate((first, *more)):
        found = evaluated[f"{key}/out" if index == 0 else f"{key}/more{index - 1}"]
        assert found.shape == right.shape
        spread = float(right.std()) or float(np.abs(right).max())
        assert spread > 0
        allowed = STEPS[dtype] * ROUNDING[dtype] * (np.abs(right) + spread)
        worst = float(np.max(np.abs(found - right) / allowed))
        assert worst < 1, f"output {index}: {worst:.3g} times the allowed error"


def test_every_task_has_a_formula() -> None:
    from tests.jaxbench.kernelbench_formulas import FORMULAS as KERNELBENCH

    covered = {name.partition("_")[0] for name in (*FORMULAS, *KERNELBENCH)}
    assert covered == {name.partition("_")[0] for name in TaskCatalog(task_roots()).ids()}
