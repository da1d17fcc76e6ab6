"""The lab behind the journal: each call is done once, however often the run is started again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maxkernel_orchestrators.connection import Lab
from maxkernel_orchestrators.connection.lab import is_final
from maxkernel_orchestrators.job.journal import Journal
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.kernels import ParamValue
from maxkernel_tools.records.profiles import ProfileResult
from maxkernel_tools.records.tasks import TaskResult
from maxkernel_tools.records.verdicts import TestLevel, TestResult


class ChipRecord(Record):
    """A chip's figures, as the lab gave them."""

    figures: dict[str, Any]


class Bench:
    """Calls of the lab that are answered from the journal where they were finished before.

    Args:
        lab: the lab.
        journal: the job's.
        target: the chip everything is about.
    """

    def __init__(self, lab: Lab, journal: Journal, target: str) -> None:
        self._lab = lab
        self._journal = journal
        self.target = target
        self.label = lab.subject.label
        self._timed: set[str] = set()

    @property
    def evaluations(self) -> int:
        """Candidates timed so far, in all sessions."""
        return self._journal.count("profile_kernel")

    @property
    def relived(self) -> int:
        """Candidates timed as far as this session has come, those answered from the journal included.

        A run that is begun anew after an interruption decides by this: by all that was ever timed it would find its
        budget spent before it had come to where the budget went.
        """
        return len(self._timed)

    async def task(self) -> TaskResult:
        """Facts and graph of the workload."""
        return await self._journal.step(
            "get_task", self._lab.subject.arguments(), TaskResult, self._lab.get_task, is_final
        )

    async def chip(self) -> dict[str, Any]:
        """Published figures of the target."""

        async def ask() -> ChipRecord:
            return ChipRecord(figures=await self._lab.chip(self.target))

        return (await self._journal.step("chip", {"target": self.target}, ChipRecord, ask)).figures

    async def compile(
        self, source: str, params: Mapping[str, ParamValue], targets: tuple[str, ...] = ()
    ) -> CompileResult:
        """Compile for ``targets``, by default the one this bench is about."""
        chosen = targets or (self.target,)
        return await self._journal.step(
            "compile_kernel",
            {"source": source, "params": dict(params), "targets": chosen},
            CompileResult,
            lambda: self._lab.compile(source, params, chosen),
            is_final,
        )

    async def test(self, source: str, params: Mapping[str, ParamValue], level: TestLevel) -> TestResult:
        """Judge numerics."""
        return await self._journal.step(
            "test_kernel",
            {"source": source, "params": dict(params), "level": level, "target": self.target},
            TestResult,
            lambda: self._lab.test(source, params, level, self.target),
            is_final,
        )

    async def profile(self, source: str, params: Mapping[str, ParamValue], against: str) -> ProfileResult:
        """Time it. A comparison that came back without the other side may be asked for again."""

        def final(result: ProfileResult) -> bool:
            return is_final(result) and (against == "none" or result.speedup is not None)

        self._timed.add(json.dumps([source, dict(params), against], sort_keys=True))
        return await self._journal.step(
            "profile_kernel",
            {"source": source, "params": dict(params), "against": against, "target": self.target},
            ProfileResult,
            lambda: self._lab.profile(source, params, self.target, against),
            final,
        )
