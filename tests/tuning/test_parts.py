"""Space, surrogate, patching and cache of the autotuner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxkernel_tools.context import KernelCall, Workload
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records import ArraySpec, KernelSource, Target
from maxkernel_tools.records.tuning import ConfigReport
from maxkernel_tools.tuning import TuningCache
from maxkernel_tools.tuning.patching import with_params
from maxkernel_tools.tuning.space import spell_out
from maxkernel_tools.tuning.surrogate import Surrogate


def test_the_default_comes_first_and_pinned_parameters_leave_the_space() -> None:
    configs = spell_out({"A": [1, 2, 4], "B": [8, 16]}, {"A": 2, "B": 8}, {"B": 16})
    assert configs[0] == {"A": 2}
    assert {config["A"] for config in configs} == {1, 2, 4}


@pytest.mark.parametrize(
    ("space", "defaults", "message"),
    [
        ({}, {"A": 1}, "nothing to tune"),
        ({"Z": [1]}, {"A": 1}, "no parameter 'Z'"),
        ({"A": [1, "x"]}, {"A": 1}, "several types"),
        ({"A": list(range(100)), "B": list(range(100))}, {"A": 1, "B": 1}, "10000 configurations"),
    ],
)
def test_a_space_that_does_not_fit_is_refused(space: dict, defaults: dict, message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        spell_out(space, defaults, {})


@pytest.mark.parametrize(
    "text",
    [
        'import os\nPARAMS = {"BM": 128, "KEEP": "x"}\nSPACE = {"BM": [1]}\n\ndef f(x, BM, KEEP):\n    return x\n',
        'PARAMS: dict = {\n    "BM": 128,\n    "KEEP": "x",\n}\n',
        'import os\nSIZE = 1\nPARAMS = dict(BM=SIZE, KEEP="x")\n',
        "import os\n\ndef workload(x):\n    return x\n",
    ],
)
def test_patched_source_has_the_new_values_and_keeps_the_rest(text: str) -> None:
    patched = with_params(text, {"BM": 256})
    scope: dict = {}
    exec(compile(patched, "kernel.py", "exec"), scope)  # noqa: S102 - the patched text is this test's own
    assert scope["PARAMS"]["BM"] == 256
    if "KEEP" in text:
        assert scope["PARAMS"]["KEEP"] == "x"


@given(st.dictionaries(st.sampled_from("ABC"), st.integers(1, 4096), min_size=1))
def test_any_values_survive_patching(params: dict[str, int]) -> None:
    scope: dict = {}
    exec(with_params("PARAMS = {}\n", params), scope)  # noqa: S102 - the patched text is this test's own
    assert scope["PARAMS"] == params


def test_the_surrogate_finds_what_the_guess_does_not_know_in_a_quarter_of_the_space() -> None:
    space = {"A": [64, 128, 256, 512], "B": [64, 128, 256, 512], "C": [128, 256, 512]}
    configs = spell_out(space, {"A": 64, "B": 64, "C": 128}, {})
    # Small blocks refetch, large ones fill the registers: the optimum lies inside.
    truth = np.array(
        [
            50 + 9000 / config["A"] + 6000 / config["B"] + config["A"] * config["B"] / 4000 + 1000 / config["C"]
            for config in configs
        ]
    )
    surrogate = Surrogate(configs, [100.0] * len(configs))
    timed = {0: float(truth[0])}
    while len(timed) < len(configs) // 4:
        predicted = surrogate.predict(timed)
        at = min((at for at in range(len(configs)) if at not in timed), key=lambda at: predicted[at])
        timed[at] = float(truth[at])
    assert min(timed.values()) <= truth.min() * 1.03
    assert surrogate.predict(timed)[0] == pytest.approx(truth[0])


def test_timed_configurations_are_found_again(tmp_path: Path) -> None:
    cache = TuningCache(tmp_path)
    spec = ArraySpec.parse("f32[8,128]")
    call = KernelCall(KernelSource(text="x"), Workload(inputs=(spec,), label="x"))
    path = cache.path(call, Target.V6E, {"jax": "1"})
    assert cache.load(path) == {}
    slow = ConfigReport(params={"A": 1}, state="timed", reason="", time_us=9.0, interval_us=(8.0, 10.0))
    fast = ConfigReport(params={"A": 2}, state="timed", reason="", time_us=5.0, interval_us=(4.0, 6.0))
    cache.save(path, {"a": slow, "b": fast})
    assert cache.best(call, Target.V6E, {"jax": "1"}) == {"A": 2}
    assert cache.best(call, Target.V6E, {"jax": "2"}) is None
    path.write_text("{broken")
    assert cache.load(path) == {}
