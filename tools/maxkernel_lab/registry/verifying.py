"""``maxkernel verify``: does an accepted verdict of the store still stand?

Two questions. Are kernel, task, policy, grader, versions, seeds and artifacts what the receipt says? And does the
grader, asked again on new seeds, say the same? A receipt is not signed: whoever may write the store can forge one, so
only the second question answers for a store from somebody else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
from pydantic import ValidationError

from maxkernel_lab.registry.arguments import MAX_SOURCE, VerifyArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.kernel_tools import REFERENCE_ARTIFACT, SOURCE_ARTIFACT
from maxkernel_lab.registry.run_tools import known_run
from maxkernel_lab.registry.workloads import find_task
from maxkernel_lab.store import RunArtifacts, RunRow
from maxkernel_lab.store.artifacts import URI_PREFIX
from maxkernel_tools.context import CallContext, KernelCall, Progress, Workload
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.results import Artifact
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.verdicts import Difference, TestLevel, TestResult, VerifyResult

_COMPARED: Final = (
    "verdict in the index", "artifacts", "kernel", "imported files", "task", "policy", "grader", "versions", "seeds",
)  # fmt: skip
_CHUNK: Final = 1 << 20


async def verify_run(services: Services, arguments: VerifyArguments, progress: Progress) -> VerifyResult:
    """Recompute what a run's newest accepted verdict rests on and, unless told otherwise, judge the kernel again.

    Raises:
        MisuseError: there is no such run, or none of its tests was accepted.
    """
    recorded = await anyio.to_thread.run_sync(_recorded, services, arguments.run_id)
    versions = await services.runtime.versions()
    from maxkernel_tools.checking import receipts  # noqa: PLC0415 - numpy is imported when first needed

    found = list(recorded.differences)
    receipt, call = recorded.accepted.receipt, recorded.call
    terms = receipts.terms_of(receipt) if receipt else None
    if receipt is None or call is None:
        rerun = False
    else:
        seeds = [case.seed for case in recorded.accepted.cases if case.seed is not None]
        found += receipts.differences(receipt, call, versions=versions, seeds=seeds)
        rerun = not arguments.hashes_only and terms is not None
        if terms is None:
            found.append(Difference(what="the flags", then="a level and a target", now=receipt.flags[:80]))
    again: TestResult | None = None
    if rerun and call is not None and terms is not None and receipt is not None:
        again = await _judge(services, call, terms, arguments.run_id, progress)
        if again.verdict != recorded.accepted.verdict:
            found.append(Difference(what="the verdict", then=recorded.accepted.verdict, now=again.verdict))
        elif again.receipt is not None and again.receipt.flags != receipt.flags:
            found.append(Difference(what="the flags", then=receipt.flags, now=again.receipt.flags))
    return _answer(recorded, found, again, terms)


@dataclass(frozen=True)
class _Recorded:
    """The accepted test the store holds, the call it was about (None where it cannot be rebuilt), and first doubts."""

    run_id: str
    accepted: TestResult
    call: KernelCall | None
    differences: tuple[Difference, ...]


def _recorded(services: Services, run_id: str) -> _Recorded:
    row = known_run(services, run_id)
    accepted, found = _accepted(services, run_id)
    found += _artifacts(services, run_id)
    return _Recorded(run_id, accepted, _call(services, row), tuple(found))


def _accepted(services: Services, run_id: str) -> tuple[TestResult, list[Difference]]:
    """Return the newest accepted test, and where the store contradicts itself about it."""
    tests: list[tuple[str | None, TestResult]] = []
    for verdict, result in services.store.verdicts(run_id):
        try:
            tests.append((verdict, TestResult.model_validate(result)))
        except ValidationError:
            continue  # written by a version whose results had other fields
    found: list[Difference] = []
    chosen = next((item for item in reversed(tests) if "correct" in (item[0], item[1].verdict)), None)
    if chosen is None:
        said = f"its newest test says {tests[-1][1].verdict}" if tests else "it was never tested"
        raise MisuseError(
            f"Run {run_id!r} has no accepted verdict: {said}.",
            allowed="a run whose test was accepted (list_runs with verdict correct).",
            action="Test it first, or name another run.",
        )
    indexed, result = chosen
    if indexed != result.verdict:
        found.append(Difference(what="the verdict in the index", then=result.verdict, now=str(indexed)))
    if result.receipt is None:
        found.append(Difference(what="the receipt", then="one per accepted verdict", now="absent"))
    later = tests[-1][1]
    if later.verdict != "correct":
        found.append(Difference(what="a later verdict", then="correct", now=later.verdict))
    return result, found


def _artifacts(services: Services, run_id: str) -> list[Difference]:
    """Compare every artifact of the run with the hash it is filed under."""
    found: list[Difference] = []
    for artifact in services.store.artifacts(run_id):
        name = artifact.uri.removeprefix(f"{URI_PREFIX}{run_id}/")
        kept = services.store.artifact_path(run_id, name)
        if kept is None:
            continue
        digest = _file_hash(kept[0])
        if digest != kept[0].name:
            found.append(Difference(what=f"the artifact {name}", then=kept[0].name[:16], now=digest[:16]))
    return found


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return "absent"
    return digest.hexdigest()


def _call(services: Services, row: RunRow) -> KernelCall | None:
    """Rebuild the call from the record; None where its source is gone (the missing artifact is told)."""
    text = _text(services, row.run_id, SOURCE_ARTIFACT)
    if text is None:
        return None
    roots: Sequence[str] = row.config.get("import_roots") or ()
    kernel = KernelSource(text=text, file=row.config.get("file"), import_roots=tuple(roots))
    return KernelCall(kernel, _workload(services, row), dict(row.params))


def _workload(services: Services, row: RunRow) -> Workload:
    if row.task is None:
        reference = _text(services, row.run_id, REFERENCE_ARTIFACT)
        specs = tuple(ArraySpec.parse(text) for text in row.inputs)
        source = None if reference is None else KernelSource(text=reference, file=REFERENCE_ARTIFACT)
        return Workload(specs, row.label, None, source)
    from maxkernel_tools.tasks import input_specs  # noqa: PLC0415 - see verify_run

    task = find_task(services, str(row.config.get("task_folder") or row.task))
    specs = input_specs(task.facts, task.facts.dims, task.facts.dtype)
    return Workload(specs, task.facts.id, task, task.reference)


def _text(services: Services, run_id: str, name: str) -> str | None:
    kept = services.store.artifact_path(run_id, name)
    if kept is None or not kept[0].is_file() or kept[0].stat().st_size > 4 * MAX_SOURCE:
        return None
    return kept[0].read_text(encoding="utf-8", errors="replace")


async def _judge(
    services: Services, call: KernelCall, terms: tuple[TestLevel, Target], run_id: str, progress: Progress
) -> TestResult:
    from maxkernel_tools.checking import test_kernel as tool  # noqa: PLC0415 - see verify_run

    level, target = terms
    sink = _Beside(RunArtifacts(services.store, run_id))
    context = CallContext(runtime=services.runtime, artifacts=sink, progress=progress, run_id=run_id)
    return await tool(call, level, context, target=target)


class _Beside:
    """Keeps the new verdict's artifacts beside the recorded ones instead of over them."""

    def __init__(self, sink: RunArtifacts) -> None:
        self._sink = sink

    async def put(self, name: str, kind: str, data: bytes | str | Path) -> Artifact:
        return await self._sink.put(f"verify-{name}", kind, data)


def _answer(
    recorded: _Recorded, found: list[Difference], again: TestResult | None, terms: tuple[str, Any] | None
) -> VerifyResult:
    findings = tuple(
        Finding(
            code=FindingCode.RECEIPT_MISMATCH,
            severity=Severity.ERROR,
            stage=Stage.LAB,
            message=f"{item.what[0].upper()}{item.what[1:]} differs: {item.then} then, {item.now} now.",
            hint="Test the kernel again; the recorded verdict does not speak for what is here now.",
        )
        for item in found
    )
    if found:
        summary = f"The verdict does not stand as recorded: {', '.join(item.what for item in found)} differ"
        summary += "s." if len(found) == 1 else "."
    elif again is not None:
        summary = "The verdict stands: everything it rests on is as it was, and new seeds give the same verdict."
    else:
        summary = "Everything the verdict rests on is as it was; the kernel was not judged again."
    return VerifyResult(
        ok=not found,
        run_id=recorded.run_id,
        summary=summary,
        findings=findings,
        artifacts=again.artifacts if again else (),
        level=terms[0] if terms else recorded.accepted.level,
        target=str(terms[1].value) if terms else "",
        rerun=again is not None,
        verdict_then=recorded.accepted.verdict,
        verdict_now=again.verdict if again else "",
        compared=(*_COMPARED, *(("verdict on new seeds", "flags") if again else ())),
        differences=tuple(found),
    )


__all__ = ["verify_run"]
