"""The KernelBench tasks' formulas, shapes and figures against the handed facts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jaxbench import task_roots
from maxkernel_tools.tasks import TaskCatalog, flops, hbm_bytes, input_specs, output_specs
from maxkernel_tools.tasks.expressions import evaluate
from tests.shared_data import shared_path

NUMBERS = range(18, 51)


@pytest.mark.parametrize("number", NUMBERS)
def test_facts_agree_with_the_handed_data(number: int) -> None:
    rows: list[dict[str, Any]] = json.loads(shared_path("data", "jaxbench_tasks.json").read_text())
    row = next(row for row in rows if row["id"].startswith(f"{number}k_"))
    facts = TaskCatalog(task_roots()).find(row["id"]).facts

    assert [entry.name for entry in facts.inputs] == [entry["name"] for entry in row["inputs"]]
    assert [list(spec.shape) for spec in input_specs(facts)] == [entry["shape"] for entry in row["inputs"]]
    assert [list(spec.shape) for spec in output_specs(facts)] == [row["output"]["shape"]]
    assert flops(facts) == row["flops"]["value"]
    assert hbm_bytes(facts) == row["io_bytes_bf16"]
    assert [entry.time_ms for entry in facts.published] == [row["baseline_ms"]]
    if facts.work.least_flops:
        assert evaluate(facts.work.least_flops, facts.dims) == row["flops"]["other_value"]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_dead_input_is_named_by_a_label(number: int) -> None:
    facts = TaskCatalog(task_roots()).find(f"{number}k").facts
    dead = [entry.name for entry in facts.inputs if entry.dead]
    labelled = {label.name for label in facts.labels} & {"dead-input", "dead-algebra"}
    assert bool(dead) == bool(labelled)
    assert all(name in label.text for name in dead for label in facts.labels)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_family_has_an_aligned_a_ragged_and_a_tiny_member(number: int) -> None:
    facts = TaskCatalog(task_roots()).find(f"{number}k").facts
    assert {shape.kind for shape in facts.small_shapes} == {"aligned", "ragged", "tiny"}
