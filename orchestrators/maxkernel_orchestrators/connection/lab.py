"""Typed calls of the lab's tools over an MCP client. Owns waiting for long calls; knows nothing of plans or authors."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import anyio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.findings import FindingCode
from maxkernel_tools.records.jobs import JobResult
from maxkernel_tools.records.kernels import ParamValue
from maxkernel_tools.records.profiles import ProfileResult
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.records.tasks import ReferenceGraph, TaskResult
from maxkernel_tools.records.verdicts import TestLevel, TestResult

CALL_TIMEOUT_S: Final = 120.0
"""No call of the lab blocks longer than 45 s; far beyond it the lab is taken for dead."""
JOB_WAIT_S: Final = 30.0
LONGEST_S: Final = 1800.0
"""A call that became a job is given up after this long."""

Watch = Callable[[str, float, float | None, str], Awaitable[None]]
"""``await watch(tool, done, total, message)`` hears how far a call is."""
_Result = TypeVar("_Result", bound=Record)


class LabError(Exception):
    """A call of the lab did not give a result that can be used."""


class LabRefusalError(LabError):
    """The call was wrong by the lab's word; the message says what is allowed."""


class LabGoneError(LabError):
    """The lab, or the connection to it, is no longer there."""


class LabFailedError(LabError):
    """The lab's machinery failed; says nothing about a kernel."""


@dataclass(frozen=True)
class Subject:
    """What is being optimised, as the tools take it.

    Attributes:
        task: id or folder, or empty.
        reference_path: without a task, the reference; with ``inputs``.
    """

    task: str = ""
    reference_path: str = ""
    inputs: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """A short name for people: a task's id or folder name, or the reference's file name."""
        return (self.task or self.reference_path).rstrip("/").rsplit("/", 1)[-1].removesuffix(".py")

    def arguments(self, *, reference: bool = True) -> dict[str, Any]:
        """Arguments that name the workload; ``reference`` where the tool takes one."""
        if self.task:
            return {"task": self.task}
        named: dict[str, Any] = {"inputs": list(self.inputs)}
        return named | {"reference_path": self.reference_path} if reference else named


class Lab:
    """The lab's tools with typed arguments and answers.

    Args:
        client: a connected MCP client.
        subject: the workload every call is about.
        watch: hears the progress of calls.
    """

    def __init__(self, client: Client, subject: Subject, watch: Watch) -> None:
        self._client = client
        self._watch = watch
        self.subject = subject

    async def get_task(self) -> TaskResult:
        """Facts and graph of the workload; what was too long for the result is read from its artifacts."""
        found = await self._call("get_task", self.subject.arguments(), TaskResult)
        whole: dict[str, Any] = {}
        for artifact in found.artifacts:
            if artifact.kind == "reference-graph" and found.reference_graph is None:
                whole["reference_graph"] = ReferenceGraph.model_validate_json(await self._read(artifact.uri))
            if artifact.kind == "reference-source" and found.reference_source is None:
                whole["reference_source"] = await self._read(artifact.uri)
        return found.model_copy(update=whole)

    async def compile(self, source: str, params: Mapping[str, ParamValue], targets: tuple[str, ...]) -> CompileResult:
        """Compile for each target."""
        arguments = {"source": source, "params": dict(params), "targets": list(targets)}
        return await self._call("compile_kernel", arguments | self.subject.arguments(reference=False), CompileResult)

    async def test(self, source: str, params: Mapping[str, ParamValue], level: TestLevel, target: str) -> TestResult:
        """Judge numerics."""
        arguments = {"source": source, "params": dict(params), "level": level, "target": target}
        return await self._call("test_kernel", arguments | self.subject.arguments(), TestResult)

    async def profile(self, source: str, params: Mapping[str, ParamValue], target: str, against: str) -> ProfileResult:
        """Time it, against ``reference``, ``none`` or another run."""
        arguments = {"source": source, "params": dict(params), "target": target, "against": against}
        return await self._call("profile_kernel", arguments | self.subject.arguments(), ProfileResult)

    async def chip(self, target: str) -> dict[str, Any]:
        """Published figures of a chip.

        Raises:
            LabGoneError: the lab is no longer there.
            LabError: it has no such resource.
        """
        return cast("dict[str, Any]", json.loads(await self._read(f"maxkernel://chips/{target}")))

    async def _read(self, uri: str) -> str:
        """Read a text resource, all its pages."""
        text, following = "", uri
        while following:
            try:
                with anyio.fail_after(CALL_TIMEOUT_S):
                    answer = await self._client.read_resource(following)
            except (MCPError, TimeoutError) as error:
                raise LabFailedError(f"{following} cannot be read: {error}") from error
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
                raise LabGoneError("The lab is gone.") from error
            part = answer.contents[0]
            text += getattr(part, "text", "")
            following = str((part.meta or {}).get("next") or "")
        return text

    async def _call(self, tool: str, arguments: Mapping[str, Any], model: type[_Result]) -> _Result:
        raw = await self._raw(tool, arguments)
        waited = 0.0
        while raw.get("state") == "running" and raw.get("job_id"):
            job_id = str(raw["job_id"])
            job = JobResult.model_validate(await self._raw("get_job", {"job_id": job_id, "wait_s": JOB_WAIT_S}))
            if job.job_state == "running":
                waited += JOB_WAIT_S
                if waited > LONGEST_S:
                    raise LabFailedError(f"{tool} is not done after {LONGEST_S:.0f} s (job {job_id}).")
                continue
            if job.result is None:
                raise LabFailedError(f"{tool} was {job.job_state} (job {job_id}).")
            raw = job.result
        return self._judged(tool, raw, model)

    def _judged(self, tool: str, raw: dict[str, Any], model: type[_Result]) -> _Result:
        try:
            if raw.get("state") == "failed":
                raise LabFailedError(f"{tool}: {raw.get('summary')}")
            findings = cast("list[dict[str, Any]]", raw.get("findings") or [])
            if any(finding.get("code") == FindingCode.INVALID_ARGUMENT.value for finding in findings):
                raise LabRefusalError(str(raw.get("summary")))
            return model.model_validate(raw)
        except ValidationError as error:
            detail = str(raw.get("summary") or error)
            raise LabFailedError(f"{tool} answered in a form unknown here: {detail[:500]}") from error

    async def _raw(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        async def heard(progress: float, total: float | None, message: str | None) -> None:
            await self._watch(tool, progress, total, message or "")

        try:
            answer = await self._client.call_tool(
                tool, dict(arguments), read_timeout_seconds=CALL_TIMEOUT_S, progress_callback=heard
            )
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
            raise LabGoneError(f"The lab went away during {tool}.") from error
        except MCPError as error:
            # The SDK reports a closed connection and an expired wait as protocol errors of its own.
            gone = "closed" in str(error).lower() or "timed out" in str(error).lower()
            raise (LabGoneError if gone else LabFailedError)(f"{tool}: {error}") from error
        structured = answer.structured_content
        if structured is None:
            text = " ".join(getattr(block, "text", "") for block in answer.content)
            raise LabRefusalError(text[:1000] or f"{tool} gave no result.")
        return cast("dict[str, Any]", structured)


def is_final(result: ToolResult) -> bool:
    """Whether a result will not change when asked again: it is about the kernel, not the machinery."""
    return result.state == "done" and result.ok is not None
