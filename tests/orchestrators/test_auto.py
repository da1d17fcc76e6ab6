"""Auto over a real MCP connection to a lab in memory: what it climbs, when it stops, what it may claim."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client

from maxkernel_orchestrators.connection import Lab, LabRefusalError, Subject
from maxkernel_orchestrators.connection.lab import LabFailedError
from maxkernel_orchestrators.job import JobConfig, JobFolder, Journal
from maxkernel_orchestrators.process.work import Worker
from maxkernel_orchestrators.reporting import OptimizationResult
from maxkernel_orchestrators.reporting.display import Display
from maxkernel_tools.records.base import Record
from tests.orchestrators.fake_lab import FakeLab
from tests.orchestrators.graphs import equation


def optimize(folder: Path, lab: FakeLab, **config: object) -> OptimizationResult:
    """Run one session of a job."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(JobConfig.model_validate({"task": "41k", **config}).model_dump_json())
    job = JobFolder(folder)
    journal = Journal(folder / "journal.sqlite3")
    worker = Worker(job, job.read_config(), journal, Display("test", enabled=False))
    try:
        return anyio.run(_session, lab, worker)
    finally:
        journal.close()


async def _session(lab: FakeLab, worker: Worker) -> OptimizationResult:
    async with Client(lab.server()) as client:
        return await worker.run(client)


def test_a_faster_verified_kernel_is_exported_and_claimed(tmp_path: Path) -> None:
    result = optimize(tmp_path / "j-1", FakeLab())
    assert result.ok is True
    assert result.faster
    assert result.claimed_speedup == 1.25
    assert "estimated from the compiler's schedule" in result.summary
    assert result.kernel_path is not None
    text = Path(result.kernel_path).read_text()
    compile(text, "best_kernel.py", "exec")
    assert "Verified by MaxKernel MCP (sanitize: correct)" in text
    assert result.races_checked
    assert result.uninitialized_checked
    assert result.compiles_for == ("v6e", "v5e")
    assert JobFolder(tmp_path / "j-1").result() == result.model_dump(mode="json")


def test_an_insignificant_gain_is_never_claimed(tmp_path: Path) -> None:
    result = optimize(tmp_path / "j-1", FakeLab(significant=False))
    assert result.ok is True
    assert not result.faster
    assert result.claimed_speedup == 1.0
    assert "baseline is kept, 1.0x" in result.summary


def test_a_slower_kernel_is_not_called_faster(tmp_path: Path) -> None:
    result = optimize(tmp_path / "j-1", FakeLab(time_us=lambda call: 200.0))
    assert not result.faster
    assert result.claimed_speedup == 1.0


@pytest.mark.parametrize("verdict", ["incorrect", "inconclusive", "rejected", "crashed", "timed-out"])
def test_no_verdict_but_correct_leads_to_an_exported_kernel(tmp_path: Path, verdict: str) -> None:
    result = optimize(tmp_path / "j-1", FakeLab(verdict=lambda call: verdict))
    assert result.ok is False
    assert result.kernel_path is None
    assert result.claimed_speedup == 1.0
    assert list(tmp_path.rglob("best_kernel.py")) == []


def test_a_kernel_that_fails_only_the_whole_test_is_not_exported(tmp_path: Path) -> None:
    lab = FakeLab(verdict=lambda call: "correct" if call["level"] == "quick" else "incorrect")
    result = optimize(tmp_path / "j-1", lab)
    assert result.ok is False
    assert list(tmp_path.rglob("best_kernel.py")) == []


def test_a_stale_export_of_an_earlier_session_does_not_survive_a_run_without_one(tmp_path: Path) -> None:
    folder = tmp_path / "j-1"
    folder.mkdir()
    (folder / "best_kernel.py").write_text("left behind")
    optimize(folder, FakeLab(verdict=lambda call: "incorrect"))
    assert not (folder / "best_kernel.py").exists()


def test_tuning_takes_the_fastest_blocks_and_verifies_those(tmp_path: Path) -> None:
    tested: list[dict[str, int]] = []

    def verdict(call: dict) -> str:
        tested.append(call["params"])
        return "correct"

    lab = FakeLab(time_us=lambda call: 50.0 if call["params"].get("BLOCK_N") == 512 else 90.0, verdict=verdict)
    result = optimize(tmp_path / "j-1", lab)
    assert result.params["BLOCK_N"] == 512
    assert result.params in tested
    assert tested[-1] == result.params
    assert '"BLOCK_N": 512' in Path(str(result.kernel_path)).read_text()


def test_blocks_that_tuning_chose_but_the_grader_refuses_are_not_used(tmp_path: Path) -> None:
    lab = FakeLab(
        time_us=lambda call: 50.0 if call["params"].get("BLOCK_N") == 512 else 90.0,
        verdict=lambda call: "incorrect" if call["params"].get("BLOCK_N") == 512 else "correct",
    )
    result = optimize(tmp_path / "j-1", lab)
    assert result.ok is True
    assert result.params["BLOCK_N"] != 512


def test_a_kernel_that_does_not_fit_is_repaired_with_smaller_blocks(tmp_path: Path) -> None:
    lab = FakeLab(compiles=lambda call: call["params"].get("BLOCK_N") == 512)
    result = optimize(tmp_path / "j-1", lab)
    assert result.ok is True
    assert result.candidates[0].repairs >= 1
    assert result.params["BLOCK_N"] == 512


def test_a_reference_outside_the_blueprints_ends_honestly(tmp_path: Path) -> None:
    graph = FakeLab().graph
    assert graph is not None
    sort = equation("d", "sort", "a", aval="bf16[4096,8192]", dimension="1")
    odd = graph.model_copy(update={"equations": (sort,), "outputs": ("d",)})
    result = optimize(tmp_path / "j-1", FakeLab(graph=odd))
    assert result.ok is False
    assert "no blueprint fits" in result.summary
    assert "sort" in result.summary


def test_the_users_own_kernel_is_kept_where_nothing_beats_it(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("# mine\nPARAMS = {'B': 8}\ndef workload(x, weight, bias, B=8):\n    return x\n")
    lab = FakeLab(time_us=lambda call: 40.0 if "# mine" in call["source"] else 80.0)
    result = optimize(tmp_path / "j-1", lab, start_from=str(own))
    assert result.ours is not None
    assert result.ours.name == "c0"
    assert "# mine" in Path(str(result.kernel_path)).read_text()


def test_the_budget_of_evaluations_is_a_limit(tmp_path: Path) -> None:
    lab = FakeLab()
    result = optimize(tmp_path / "j-1", lab, budget={"evaluations": 1, "wall_s": 600})
    # The one allowed timing, and the comparison that makes it a result.
    assert lab.asked["profile_kernel"] <= 2
    assert result.stopped == "evaluations"


def test_a_finished_run_started_again_asks_the_lab_nothing_new(tmp_path: Path) -> None:
    folder, lab = tmp_path / "j-1", FakeLab()
    first = optimize(folder, lab)
    before = sum(lab.asked.values())
    again = optimize(folder, lab)
    assert sum(lab.asked.values()) == before
    unchanged = {"cost", "took_ms"}
    assert again.model_dump(exclude=unchanged) == first.model_dump(exclude=unchanged)


@pytest.mark.parametrize("tool", ["get_task", "compile_kernel", "test_kernel", "profile_kernel"])
def test_a_run_cut_off_at_any_tool_goes_on_without_doing_a_finished_step_twice(tmp_path: Path, tool: str) -> None:
    whole, undisturbed = FakeLab(), tmp_path / "j-1"
    expected = optimize(undisturbed, whole)
    lab, folder = FakeLab(fails={tool}), tmp_path / "j-2"
    with pytest.raises((LabFailedError, BaseExceptionGroup)):
        optimize(folder, lab)
    lab.fails.clear()
    result = optimize(folder, lab)
    assert result.params == expected.params
    assert result.claimed_speedup == expected.claimed_speedup
    assert sum(lab.asked.values()) == sum(whole.asked.values()) + 1


def test_a_call_that_becomes_a_job_is_waited_for(tmp_path: Path) -> None:
    lab = FakeLab(handed_over={"compile_kernel", "test_kernel", "profile_kernel"})
    result = optimize(tmp_path / "j-1", lab)
    assert result.ok is True
    assert lab.asked["get_job"] == 3


@pytest.mark.anyio
async def test_a_refused_call_is_told_apart_from_a_failed_one() -> None:
    lab = FakeLab()

    async def deaf(tool: str, done: float, total: float | None, message: str) -> None: ...

    async with Client(lab.server()) as client:
        with pytest.raises(LabRefusalError, match="Unknown task"):
            await Lab(client, Subject(task="nowhere"), deaf).get_task()
        lab.fails.add("get_task")
        with pytest.raises(LabFailedError, match="disk full"):
            await Lab(client, Subject(task="41k"), deaf).get_task()


def test_the_report_is_one_page_without_a_network(tmp_path: Path) -> None:
    result = optimize(tmp_path / "j-1", FakeLab())
    html = Path(str(result.report_path)).read_text()
    assert "http" not in html
    assert "<script" not in html
    assert "estimated from the compiler&#x27;s schedule" in html


def test_a_comparison_that_came_without_the_other_side_is_asked_for_again(tmp_path: Path) -> None:
    lab = FakeLab(references_missing=1)
    result = optimize(tmp_path / "j-1", lab)
    assert result.speedup is not None
    assert result.faster


def test_the_users_own_kernel_is_not_replaced_by_one_that_is_faster_within_the_error(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("# mine\ndef workload(x, weight, bias):\n    return x\n")
    lab = FakeLab(time_us=lambda call: 82.0 if "# mine" in call["source"] else 80.0)
    result = optimize(tmp_path / "j-1", lab, start_from=str(own))
    assert "# mine" in Path(str(result.kernel_path)).read_text()
    lab = FakeLab(time_us=lambda call: 120.0 if "# mine" in call["source"] else 80.0)
    result = optimize(tmp_path / "j-2", lab, start_from=str(own))
    assert "# mine" not in Path(str(result.kernel_path)).read_text()


def test_a_budget_spent_before_an_interruption_still_buys_what_it_bought(tmp_path: Path) -> None:
    class Failing(FakeLab):
        """Its profiler is out of order once the first kernel was timed."""

        def answer(self, tool: str, call: dict[str, object]) -> Record:
            if self.asked["profile_kernel"]:
                self.fails.add("profile_kernel")
            return super().answer(tool, call)

    folder = tmp_path / "j-1"
    budget = {"evaluations": 1, "wall_s": 600}
    whole = optimize(tmp_path / "j-0", FakeLab(), budget=budget)
    with pytest.RaisesGroup(LabFailedError, flatten_subgroups=True):
        optimize(folder, Failing(), budget=budget)
    resumed = optimize(folder, FakeLab(), budget=budget)
    assert (resumed.ok, resumed.params, resumed.ours) == (whole.ok, whole.params, whole.ours)
    assert resumed.ok is True
