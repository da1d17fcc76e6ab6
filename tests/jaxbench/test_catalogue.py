"""The tasks as a whole: all there, complete, consistent with the published facts."""

from __future__ import annotations

import json

import pytest

from jaxbench import task_roots
from maxkernel_tools.tasks import Task, TaskCatalog, flops, hbm_bytes, input_specs, output_specs
from tests.shared_data import shared_path

TASKS = TaskCatalog(task_roots()).list()
BENCHMARK = [task for task in TASKS if task.facts.split == "jaxbench"]


def test_fifty_tasks_and_the_models_split() -> None:
    assert len(BENCHMARK) == 50
    assert [task.facts.id.split("_")[0] for task in BENCHMARK] == [f"{n}p" for n in range(1, 18)] + [
        f"{n}k" for n in range(18, 51)
    ]
    models = [task for task in TASKS if task.facts.split == "models"]
    titles = " ".join(task.facts.title.casefold() for task in models)
    for wanted in ("sink", "gated deltanet, forward", "mixed prefill and decode", "latent attention"):
        assert wanted in titles


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.facts.id)
def test_a_task_is_complete(task: Task) -> None:
    facts = task.facts
    assert facts.id == task.folder.name
    assert [shape.kind for shape in facts.small_shapes] == ["aligned", "ragged", "tiny"]
    assert facts.dtypes == ("bf16", "f32")
    assert facts.tolerance.reduction_dims
    assert facts.classic_dims, "the audit needs to know how to cut it in classic mode"
    assert set(facts.classic_dims) <= set(facts.dims)
    for name in ("create_inputs", "create_classic_inputs", "workload"):
        assert f"def {name}(" in task.reference.text
    assert all(entry.classic or facts.split == "models" for entry in facts.inputs)
    assert flops(facts) > 0
    read = sum(spec.nbytes for spec in input_specs(facts))
    written = sum(spec.nbytes for spec in output_specs(facts))
    assert hbm_bytes(facts) <= 1.001 * (read + written)
    assert any(entry.dead for entry in facts.inputs) <= bool(facts.labels)


def test_small_shapes_leave_no_axis_as_it_is_at_full_size() -> None:
    """A kernel must not be able to hard-code a size: each dim that is not fixed takes another value somewhere."""
    for task in TASKS:
        facts = task.facts
        for name, size in facts.dims.items():
            if name not in facts.fixed_dims and size > 16:
                assert any(shape.dims[name] != size for shape in facts.small_shapes), (facts.id, name)


def test_sizes_work_and_times_are_the_published_ones() -> None:
    published = json.loads(shared_path("data", "jaxbench_tasks.json").read_text())
    for entry in published:
        task = next(task for task in BENCHMARK if task.facts.id == entry["id"])
        facts = task.facts
        stated = {name: size for name, size in entry["dims"].items() if isinstance(size, int) and name in facts.dims}
        assert {name: facts.dims[name] for name in stated} == stated, facts.id
        shapes = {given["name"]: tuple(given["shape"]) for given in entry["inputs"] if given["shape"] is not None}
        ours = {item.name: spec.shape for item, spec in zip(facts.inputs, input_specs(facts), strict=True)}
        assert ours == shapes, facts.id
        assert output_specs(facts)[0].shape == tuple(entry["output"]["shape"]), facts.id
        if facts.id != "7p_Ragged_Paged_Attention":  # depends on the lengths; see its note
            assert flops(facts) in (entry["flops"]["value"], entry["flops"]["other_value"]), facts.id
        if "baseline_ms" in entry:
            assert [time.time_ms for time in facts.published if time.target == "v6e"] == [entry["baseline_ms"]]
