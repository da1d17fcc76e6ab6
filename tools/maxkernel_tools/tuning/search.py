"""The search itself: facts for all, compiles for the promising, a surrogate that says which those are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio

from maxkernel_tools.chips import chip
from maxkernel_tools.compiling.refusing import refuse
from maxkernel_tools.context import CallContext, KernelCall
from maxkernel_tools.diagnosing import diagnose_compile, diagnose_trace
from maxkernel_tools.profiling.sides import estimate_side
from maxkernel_tools.records.findings import Finding, FindingCode
from maxkernel_tools.records.kernels import params_key
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.tuning import ConfigReport, ConfigState
from maxkernel_tools.runtime import CompileRequest, TraceRequest, compile_cpu_s
from maxkernel_tools.tuning.cache import TuningCache
from maxkernel_tools.tuning.floors import floor_us, guess_us
from maxkernel_tools.tuning.space import Config
from maxkernel_tools.tuning.surrogate import Surrogate

PARALLEL = 2
"""Configurations traced at once; the runtime admits heavy work by its own rules."""
_ORDER: dict[ConfigState, int] = {
    "best": 0,
    "timed": 1,
    "incorrect": 2,
    "refused": 3,
    "not-reached": 4,
    "pruned": 5,
}
_PASSING = frozenset(
    {
        FindingCode.TIMED_OUT,
        FindingCode.OUT_OF_MEMORY,
        FindingCode.MACHINERY_FAILED,
        FindingCode.COMPILER_CRASH,
        FindingCode.COMPILE_TIME_BLOWUP,
    }
)


@dataclass
class _Known:
    """What is known of one configuration. ``passing``: it fell for a reason another machine or hour may not have."""

    report: ConfigReport
    guess_us: float = 0.0
    passing: bool = False
    exported: bytes | None = None
    facts: Mapping[str, Any] | None = None


class Search:
    """State of one tuning call.

    Args:
        call: the kernel on its workload.
        target: the chip.
        configs: the space, the default first.
        context: runtime, artifacts, progress.
        cache: what earlier calls timed.
    """

    def __init__(
        self, call: KernelCall, target: Target, configs: list[Config], context: CallContext, cache: TuningCache | None
    ) -> None:
        self.call = call
        self.target = target
        self.configs = configs
        self.context = context
        self.compiles = 0
        self._cache = cache
        self._known = [
            _Known(ConfigReport(params=config, state="not-reached", reason="not looked at")) for config in configs
        ]
        self._stored: dict[str, ConfigReport] = {}
        self._rejected: set[int] = set()
        self.needs_verdict = False

    def call_with(self, at: int) -> KernelCall:
        """Return the call with one configuration's parameters."""
        return replace(self.call, params={**self.call.params, **self.configs[at]})

    def report(self, at: int) -> ConfigReport:
        """Return the report of one configuration."""
        return self._known[at].report

    def reports(self) -> list[ConfigReport]:
        """Return all reports."""
        best = self.best()
        return [
            known.report.model_copy(update={"state": "best", "reason": "the fastest that stands"})
            if at == best
            else known.report
            for at, known in enumerate(self._known)
        ]

    def table(self) -> list[ConfigReport]:
        """Return all reports, the best first, then by state and time."""
        return sorted(self.reports(), key=lambda one: (_ORDER[one.state], one.time_us or 0.0))

    def fastest(self) -> list[int]:
        """Return timed configurations that are not rejected, fastest first."""
        timed = [at for at, known in enumerate(self._known) if known.report.time_us and at not in self._rejected]
        return sorted(timed, key=lambda at: self._known[at].report.time_us or 0.0)

    def best(self) -> int | None:
        """Return the fastest configuration that stands; where numerics are checked, only a correct one does."""
        order = self.fastest()
        if self.needs_verdict:
            order = [at for at in order if self._known[at].report.tested == "correct"]
        return order[0] if order else None

    def note_verdict(self, at: int, verdict: str) -> None:
        """Keep what the grader said of one configuration."""
        update: dict[str, object] = {"tested": verdict}
        if verdict != "correct":
            self._rejected.add(at)
            update |= {"state": "incorrect", "reason": f"the grader's verdict is {verdict}"}
        self._known[at].report = self._known[at].report.model_copy(update=update)

    # -- facts -------------------------------------------------------------------------------------------------------

    async def look(self, limit: int) -> None:
        """Trace every configuration: prune what cannot run, rank the rest by what it must move and compute.

        Where earlier calls spent this budget already, nothing is traced: what they learned is the answer.
        """
        versions = await self.context.runtime.versions()
        if self._cache is not None:
            path = self._cache.path(self.call, self.target, versions)
            self._stored = await anyio.to_thread.run_sync(self._cache.load, path)
        for known, config in zip(self._known, self.configs, strict=True):
            stored = self._stored.get(params_key(config))
            if stored is not None:
                known.report = stored.model_copy(update={"cached": True})
        if self._spent() >= limit or all(known.report.cached for known in self._known):
            return
        gate = anyio.CapacityLimiter(PARALLEL)
        done = 0

        async def one(at: int) -> None:
            nonlocal done
            async with gate:
                await self._trace(at)
            done += 1
            if done % 4 == 0:
                await self.context.progress(done, len(self.configs) + limit, f"looked at {done} configurations")

        async with anyio.create_task_group() as tasks:
            for at, known in enumerate(self._known):
                # A timed one is traced again: how far its guess was off corrects the guesses of the others.
                if known.report.state in {"not-reached", "timed"}:
                    tasks.start_soon(one, at)

    def _spent(self) -> int:
        """Return how much of the budget is spent, by this call and by those whose results are stored."""
        stored = sum(known.report.cached and known.report.state in {"timed", "refused"} for known in self._known)
        return self.compiles + stored

    async def _trace(self, at: int) -> None:
        known = self._known[at]
        call = self.call_with(at)
        reply = await self.context.runtime.trace(
            TraceRequest(kernel=call.kernel, inputs=call.workload.inputs, params=call.params, targets=(self.target,))
        )
        exported = reply.exported.get(self.target)
        if exported is None:
            found = diagnose_trace(call.kernel, reply, self.target)
            self._drop(known, "pruned", found, "it cannot be traced")
            return
        hardware = chip(self.target)
        floor = floor_us(reply.facts, hardware)
        known.guess_us = max(floor, guess_us(reply.facts, hardware))
        known.exported, known.facts = exported, reply.facts
        if known.report.state == "timed":
            return
        known.report = known.report.model_copy(update={"floor_us": floor, "reason": "beyond the budget"})
        refused = refuse(call.kernel, reply.facts, self.target)
        if refused is not None:
            self._drop(known, "pruned", (refused,), "it cannot fit")

    # -- compiles ----------------------------------------------------------------------------------------------------

    async def compile_some(self, limit: int) -> None:
        """Compile up to ``limit`` configurations, each time the one that promises most."""
        open_ones = [at for at, known in enumerate(self._known) if known.exported is not None]
        if not open_ones:
            return
        surrogate = Surrogate([self.configs[at] for at in open_ones], [self._known[at].guess_us for at in open_ones])
        while self._spent() < limit:
            at = self._next(open_ones, surrogate)
            if at is None:
                return
            await self.context.progress(
                len(self.configs) + self.compiles,
                len(self.configs) + limit,
                f"compiling {params_key(self.configs[at])}",
            )
            await self._compile(at)

    def _next(self, open_ones: list[int], surrogate: Surrogate) -> int | None:
        timed = {
            place: self._known[at].report.time_us or 0.0
            for place, at in enumerate(open_ones)
            if self._known[at].report.time_us
        }
        fastest = min(timed.values(), default=None)
        waiting: list[tuple[float, int]] = []
        predicted = surrogate.predict(timed)
        for place, at in enumerate(open_ones):
            known = self._known[at]
            if known.report.state != "not-reached":
                continue
            floor = known.report.floor_us or 0.0
            if fastest is not None and floor > fastest:
                known.report = known.report.model_copy(
                    update={"state": "pruned", "reason": f"needs at least {floor:.1f} µs; {fastest:.1f} µs is reached"}
                )
                continue
            waiting.append((float(predicted[place]), at))
        if not timed and waiting and any(at == 0 for _, at in waiting):
            return 0
        return min(waiting)[1] if waiting else None

    async def _compile(self, at: int) -> None:
        known = self._known[at]
        exported, facts = known.exported, known.facts or {}
        if exported is None:
            return
        self.compiles += 1
        call = self.call_with(at)
        request = CompileRequest(exported=exported, target=self.target, dumps=True, cpu_s=compile_cpu_s(facts))
        reply = await self.context.runtime.compile(request)
        if not reply.ok:
            self._drop(
                known, "refused", diagnose_compile(call.kernel, reply, facts, self.target), "the compiler refused it"
            )
            return
        side = await estimate_side(reply, facts, self.target)
        if side.estimate is None:
            self._drop(known, "refused", side.findings, "its schedule cannot be read")
            return
        profile = side.estimate.profile
        known.report = known.report.model_copy(
            update={
                "state": "timed",
                "reason": "slower than the best",
                "time_us": profile.time_us,
                "interval_us": profile.interval_us,
                "vmem_bytes": profile.vmem_bytes,
            }
        )
        await self.remember()

    async def remember(self) -> None:
        """Keep what is known for later calls: times, and what was refused for a reason that will not go away."""
        if self._cache is None:
            return
        for known in self._known:
            if known.report.state in {"timed", "refused", "pruned"} and not known.passing:
                self._stored[params_key(known.report.params)] = known.report
        versions = await self.context.runtime.versions()
        path = self._cache.path(self.call, self.target, versions)
        await anyio.to_thread.run_sync(self._cache.save, path, dict(self._stored))

    @staticmethod
    def _drop(known: _Known, state: str, found: tuple[Finding, ...], otherwise: str) -> None:
        known.passing = not found or any(finding.code in _PASSING for finding in found)
        reason = f"{found[0].code.value}: {found[0].message}"[:240] if found else otherwise
        known.report = known.report.model_copy(update={"state": state, "reason": reason})
        known.exported = None
