"""``autotune_kernel`` through the real runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.records import Target
from maxkernel_tools.tuning import TuningCache, autotune_kernel
from tests.profiling.test_profile_kernel import GEMM, Folder, call_of, silent

if TYPE_CHECKING:
    from maxkernel_lab.runtimes.local import LocalRuntime

pytestmark = pytest.mark.toolchain

SPACE = {"BM": [128, 256, 512], "BN": [128, 256, 384, 512], "BK": [512]}


def test_prunes_compiles_few_tests_the_winner_and_resumes(
    portal: BlockingPortal, runtime: LocalRuntime, tmp_path: Path
) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    context = CallContext(runtime=runtime, artifacts=Folder(folder), progress=silent, run_id="r-test")
    judged: list[dict] = []

    async def check(call: KernelCall) -> str:
        judged.append(dict(call.params))
        return "incorrect" if len(judged) == 1 else "correct"

    async def tune():
        return await autotune_kernel(
            call_of(GEMM), Target.V6E, SPACE, 4, context, check=check, cache=TuningCache(tmp_path / "cache")
        )

    result = portal.call(tune)
    assert result.ok
    assert result.considered == 12
    assert result.compiles == 4
    states = {tuple(report.params.values()): report for report in result.configurations}
    # 1024 is no multiple of 384: the kernel's own arithmetic refuses it before any compile.
    assert len(states) == 12
    assert result.best is not None
    assert result.configurations[0].state == "best"
    assert result.configurations[0].tested == "correct"
    wrong = [report for report in result.configurations if report.state == "incorrect"]
    assert [report.params for report in wrong] == [judged[0]]
    assert (wrong[0].time_us or 0) <= (result.best_us or 0)
    assert all(report.reason for report in result.configurations)
    assert "not measured" in result.summary
    tuned = (folder / "kernel-tuned.py").read_text()
    assert f'"BM": {result.best["BM"]}' in tuned

    judged.append({})
    again = portal.call(tune)
    assert again.best_us is not None
    assert again.compiles == 0
    assert sum(report.cached and report.time_us is not None for report in again.configurations) == 4
    assert [report.params for report in again.configurations if report.state == "pruned"] == [
        report.params for report in result.configurations if report.state == "pruned"
    ]
    assert again.best_us <= (result.best_us or 0)
    table = (folder / "configurations.csv").read_text().splitlines()
    assert table[0].startswith("BM,BN,BK,state,time_us")
    assert len(table) == 13
