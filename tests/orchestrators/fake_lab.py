"""A small lab in memory: an MCP server that answers the tools from rules, and counts what it is asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from maxkernel_tools.records.compiles import CompileResult, TargetReport
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.jobs import JobResult
from maxkernel_tools.records.profiles import ProfileResult, SideProfile
from maxkernel_tools.records.results import Record, Speedup, ToolResult
from maxkernel_tools.records.tasks import ReferenceGraph, TaskResult
from maxkernel_tools.records.verdicts import CaseReport, SanitizerReport, TestResult
from tests.orchestrators.graphs import bias_relu
from tests.orchestrators.references import V6E

SOURCE = "def workload(x, weight, bias):\n    return x\n"


@dataclass
class FakeLab:
    """Answers from rules a test may replace.

    Attributes:
        time_us: time of a kernel by its arguments. ``reference_us``: the other side's.
        verdict: of a kernel by its arguments. ``compiles``: whether it does.
        significant: whether a speed-up may be believed.
        asked: how often each tool was called.
        handed_over: the next calls of these tools become jobs.
        references_missing: so many comparisons come back without the reference's side.
    """

    graph: ReferenceGraph | None = field(default_factory=bias_relu)
    reference_us: float = 100.0
    significant: bool = True
    time_us: Callable[[dict[str, Any]], float] = field(default=lambda call: 80.0)
    verdict: Callable[[dict[str, Any]], str] = field(default=lambda call: "correct")
    compiles: Callable[[dict[str, Any]], bool] = field(default=lambda call: True)
    asked: Counter[str] = field(default_factory=Counter[str])
    handed_over: set[str] = field(default_factory=set[str])
    fails: set[str] = field(default_factory=set[str])
    references_missing: int = 0
    _jobs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def server(self) -> Server[Any]:
        async def listed(context: Any, params: Any) -> types.ListToolsResult:
            names = ("get_task", "compile_kernel", "test_kernel", "profile_kernel", "get_job")
            schema = {"type": "object"}
            return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name in names])

        async def called(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            answer = self.answer(params.name, params.arguments or {}).model_dump(mode="json")
            text = types.TextContent(type="text", text=json.dumps(answer))
            return types.CallToolResult(content=[text], structured_content=answer, is_error=False)

        async def read(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
            text = V6E.model_dump_json()
            return types.ReadResourceResult(contents=[types.TextResourceContents(uri=str(params.uri), text=text)])

        return Server("fake", on_list_tools=listed, on_call_tool=called, on_read_resource=read)

    def answer(self, tool: str, call: dict[str, Any]) -> Record:
        self.asked[tool] += 1
        if tool in self.fails:
            return ToolResult(ok=False, state="failed", summary="The lab failed, not the kernel: disk full.")
        if tool == "get_job":
            job_id = call["job_id"]
            return JobResult(ok=True, summary="", job_id=job_id, job_state="done", result=self._jobs[job_id])
        answer = getattr(self, f"_{tool}")(call)
        if tool in self.handed_over:
            self.handed_over.discard(tool)
            job_id = f"j-{len(self._jobs)}"
            self._jobs[job_id] = answer.model_dump(mode="json")
            return ToolResult(ok=None, state="running", job_id=job_id, summary="goes on")
        return answer

    def _get_task(self, call: dict[str, Any]) -> Record:
        if call.get("task") == "nowhere":
            finding = Finding(
                code=FindingCode.INVALID_ARGUMENT, severity=Severity.ERROR, stage=Stage.LAB, message="Unknown task."
            )
            return ToolResult(ok=False, summary="Unknown task 'nowhere'.", findings=(finding,))
        return TaskResult(ok=True, summary="a task", reference_source=SOURCE, reference_graph=self.graph)

    def _compile_kernel(self, call: dict[str, Any]) -> Record:
        ok = self.compiles(call)
        oom = Finding(code=FindingCode.VMEM_OOM, severity=Severity.ERROR, stage=Stage.COMPILE, message="too much VMEM")
        reports = tuple(TargetReport(target=target, ok=ok) for target in call["targets"])
        findings = () if ok else (oom,)
        return CompileResult(ok=ok, summary="compiled" if ok else "VMEM", targets=reports, findings=findings)

    def _test_kernel(self, call: dict[str, Any]) -> Record:
        verdict = self.verdict(call)
        cases = tuple(
            CaseReport(name=name, dims={"M": extent}, seed=seed, dtype="bf16", passed=verdict == "correct")
            for seed, (name, extent) in enumerate((("aligned", 256), ("ragged", 200), ("tiny", 5)))
        )
        checks = SanitizerReport(races_checked=True, uninitialized_checked=True)
        return TestResult(
            ok=verdict == "correct",
            summary=verdict,
            verdict=verdict,
            level=call["level"],
            cases=cases,
            sanitizer=checks,
        )

    def _profile_kernel(self, call: dict[str, Any]) -> Record:
        time_us = self.time_us(call)
        side = SideProfile(
            time_us=self.reference_us,
            time_source="schedule-model",
            interval_us=(self.reference_us * 0.95, self.reference_us * 1.05),
            bound_by="mxu",
        )
        value = self.reference_us / time_us
        speedup = Speedup(
            value=value,
            low=value * 0.95,
            high=value * 1.05,
            source="schedule-model",
            significant=self.significant,
            against="reference",
        )
        against = call["against"] == "reference"
        if against and self.references_missing:
            self.references_missing -= 1
            against = False
        return ProfileResult(
            ok=True,
            run_id="r-0123456789ab",
            summary="profiled",
            target=call["target"],
            time_us=time_us,
            time_source="schedule-model",
            interval_us=(time_us * 0.95, time_us * 1.05),
            bound_by="mxu",
            roofline_fraction=0.5,
            speedup=speedup if against else None,
            reference=side if against else None,
        )
