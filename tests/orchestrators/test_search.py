"""Graph search over a real MCP connection to a lab in memory: what it may call best, and that it resumes exactly."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from maxkernel_orchestrators.searching import Graph
from maxkernel_orchestrators.searching.nodes import Node
from maxkernel_orchestrators.searching.policies import POLICIES
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record
from tests.orchestrators.fake_lab import FakeLab
from tests.orchestrators.test_auto import optimize

BUDGET = {"evaluations": 28, "wall_s": 600}


def bowl(call: dict[str, Any]) -> float:
    """A time with one best tiling, some way from where the blueprints start."""
    params = call["params"]
    off = sum((math.log2(value) - 8) ** 2 for value in params.values())
    return 50.0 + 3.0 * off + (sum(params.values()) % 7) * 0.1


def searched(folder: Path, lab: FakeLab, policy: str, **config: object) -> Any:
    return optimize(folder, lab, paradigm="search", policy=policy, budget=BUDGET, **config)


def misuse(words: str) -> Any:
    """Expect a refusal, whatever task groups it comes through."""
    return pytest.RaisesGroup(pytest.RaisesExc(MisuseError, match=words), flatten_subgroups=True)


def nodes(folder: Path) -> list[Node]:
    graph = Graph(folder / "graph.sqlite3")
    try:
        return sorted(graph.nodes.values(), key=lambda node: node.id)
    finally:
        graph.close()


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_ends_with_the_fastest_verified_kernel(tmp_path: Path, policy: str) -> None:
    result = searched(tmp_path / "j-1", FakeLab(time_us=bowl), policy)
    seen = nodes(tmp_path / "j-1")
    assert result.ok is True, result.summary
    assert result.paradigm == "search"
    assert result.ours.time_us == min(node.time_us for node in seen if node.wins)
    assert len(seen) > 8
    assert {node.state for node in seen} <= {"verified", "screened", "failed", "duplicate"}


def test_a_wrong_kernel_never_wins_and_is_nobody_s_parent(tmp_path: Path) -> None:
    def verdict(call: dict[str, Any]) -> str:
        return "incorrect" if bowl(call) < 70 else "correct"

    result = searched(tmp_path / "j-1", FakeLab(time_us=bowl, verdict=verdict), "beam")
    seen = {node.id: node for node in nodes(tmp_path / "j-1")}
    failed = {node.id for node in seen.values() if node.state == "failed"}
    assert failed
    assert all(node.parent not in failed for node in seen.values())
    assert result.ours is None or result.ours.time_us >= 70


def test_the_final_test_has_the_last_word(tmp_path: Path) -> None:
    def verdict(call: dict[str, Any]) -> str:
        return "incorrect" if call["level"] == "sanitize" else "correct"

    result = searched(tmp_path / "j-1", FakeLab(time_us=bowl, verdict=verdict), "mcts")
    assert result.ok is False
    assert result.kernel_path is None
    assert result.claimed_speedup == 1.0


def test_the_same_candidate_is_evaluated_once(tmp_path: Path) -> None:
    profiled: list[str] = []

    def time_us(call: dict[str, Any]) -> float:
        profiled.append(f"{call['params']} {call['against']}")
        return bowl(call)

    searched(tmp_path / "j-1", FakeLab(time_us=time_us), "random")
    assert any(node.state == "duplicate" for node in nodes(tmp_path / "j-1"))
    assert len(profiled) == len(set(profiled))


def test_one_program_in_two_spellings_is_evaluated_once(tmp_path: Path) -> None:
    class Clamping(FakeLab):
        """A lab in which BLOCK_M beyond 256 traces to the same program."""

        def _compile_kernel(self, call: dict[str, Any]) -> Record:
            answer = super()._compile_kernel(call)
            params = {**call["params"], "BLOCK_M": min(call["params"].get("BLOCK_M", 0), 256)}
            return answer.model_copy(update={"program_sha256": f"{hash(call['source'])} {sorted(params.items())}"})

    searched(tmp_path / "j-1", Clamping(time_us=bowl), "islands")
    known = [node for node in nodes(tmp_path / "j-1") if node.program]
    assert known
    assert len({node.program for node in known}) == len(known)


def test_the_budget_holds(tmp_path: Path) -> None:
    lab = FakeLab(time_us=bowl)
    result = optimize(tmp_path / "j-1", lab, paradigm="search", policy="mcts", budget={"evaluations": 7, "wall_s": 600})
    assert result.stopped == "evaluations"
    # One more compares the winner with the reference.
    assert lab.asked["profile_kernel"] <= 8


def test_a_search_is_not_resumed_with_another_seed(tmp_path: Path) -> None:
    folder = tmp_path / "j-1"
    searched(folder, FakeLab(time_us=bowl), "beam", seed=1)
    (folder / "result.json").unlink()
    with misuse("seed 1"):
        searched(folder, FakeLab(time_us=bowl), "beam", seed=2)


def test_an_unknown_policy_is_refused(tmp_path: Path) -> None:
    with misuse("parallel, beam, mcts, islands, random"):
        searched(tmp_path / "j-1", FakeLab(), "luck")


class _Mortal(FakeLab):
    """A lab whose process kills itself at the n-th call, before or after it is answered."""

    dies_at: int = -1
    before: bool = True

    def answer(self, tool: str, call: dict[str, Any]) -> Record:
        dying = sum(self.asked.values()) == self.dies_at
        if dying and self.before:
            os.kill(os.getpid(), signal.SIGKILL)
        answered = super().answer(tool, call)
        if dying:
            os.kill(os.getpid(), signal.SIGKILL)
        return answered


def _session(folder: Path, policy: str, dies_at: int, before: bool) -> None:
    lab = _Mortal(time_us=bowl)
    lab.dies_at, lab.before = dies_at, before
    searched(folder, lab, policy, seed=3)


def _session_that_dies(folder: Path, policy: str, dies_at: int, before: bool) -> bool:
    """Run one session in a process of its own; tell whether it was killed."""
    # Not forked from here: this process may have threads of jax, which a fork does not survive well.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_session, args=(folder, policy, dies_at, before))
    process.start()
    process.join(120)
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0


@pytest.mark.parametrize("policy", ["mcts", "islands"])
def test_killed_at_twenty_random_moments_it_ends_with_the_same_graph(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server that forks the sessions imports this module once; it does not take over the path of this process.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    whole = searched(tmp_path / "whole", FakeLab(time_us=bowl), policy, seed=3)
    chance = random.Random(policy)  # noqa: S311 - reproducible, not secret
    killed = 0
    folder = tmp_path / "killed"
    while killed < 20:
        died = _session_that_dies(folder, policy, chance.randrange(6), chance.random() < 0.5)
        if not died:
            break
        killed += 1
    resumed = searched(folder, FakeLab(time_us=bowl), policy, seed=3)
    assert killed == 20
    assert nodes(folder) == nodes(tmp_path / "whole")
    assert resumed.params == whole.params
    assert resumed.ours == whole.ours
