"""From answers to a verdict: what each case shows, which findings follow, how general the kernel is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maxkernel_tools.checking import shapes
from maxkernel_tools.checking.explaining import Judged, error_line, explain, prng_lines
from maxkernel_tools.checking.running import Answered, Session
from maxkernel_tools.checking.sourcelines import finding
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.verdicts import CaseReport, SanitizerReport, TestLevel, Verdict
from maxkernel_tools.runtime import CaseReply, ChildReport

_BLIND = 1.0  # allowed error over the output's spread from which a comparison tells nothing


@dataclass(frozen=True)
class Decision:
    """What the answers add up to."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    cases: tuple[CaseReport, ...]
    unexercised: tuple[str, ...]
    generality: str
    sanitizer: SanitizerReport
    reason: str = ""


def decide(
    source: KernelSource, level: TestLevel, session: Session, full: Mapping[str, Any], dtype: str, *, judged: bool
) -> Decision:
    """Decide on all answers.

    Args:
        source: the candidate.
        level: what was asked for.
        session: the answers.
        full: facts of the kernel at full size.
        dtype: the dtype it is graded at.
        judged: whether there is a reference to compare with.
    """
    stage = Stage.SANITIZE if level == "sanitize" else Stage.TEST
    refused = [answer for answer in session.answers if _refused(answer)]
    counted = [answer for answer in session.answers if answer.judged is not None and not _refused(answer)]
    findings: list[Finding] = []
    for answer in counted:
        assert answer.judged is not None  # noqa: S101 - filtered above
        if _convicts(answer, counted) or answer.judged.passed:
            findings += _new(explain(source, answer.judged, stage), findings)
    findings += _ended(source, session)
    findings += _unstable(source, session, stage)
    findings += _prng(source, counted, stage)
    findings = _distinct(findings)
    tested = [answer.judged.reply.facts for answer in counted if answer.judged is not None and answer.judged.passed]
    missing = shapes.axis_names(full, shapes.exercised(full, tested)) if full else ()
    verdict, reason = _verdict(session, counted, findings, judged=judged)
    if verdict == "correct" and missing:
        verdict, reason = "inconclusive", "no tested shape gave two steps to " + ", ".join(missing)
    return Decision(
        verdict=verdict,
        findings=tuple(findings),
        cases=tuple(_report(answer, dtype) for answer in counted),
        unexercised=missing,
        generality=_generality(counted, refused),
        sanitizer=_sanitizer(counted),
        reason=reason,
    )


def _new(found: Sequence[Finding], before: Sequence[Finding]) -> list[Finding]:
    """Drop a bare "wrong" from a later case where an earlier one already named the cause."""
    named = any(item.severity is Severity.ERROR and item.code is not FindingCode.WRONG_RESULT for item in before)
    return [item for item in found if not (named and item.code is FindingCode.WRONG_RESULT)]


def _refused(answer: Answered) -> bool:
    """Whether the kernel raised while traced at a shape: it does not accept that shape."""
    error = answer.judged.reply.error if answer.judged else None
    return error is not None and error.phase == "trace"


def _verdict(
    session: Session, counted: Sequence[Answered], findings: Sequence[Finding], *, judged: bool
) -> tuple[Verdict, str]:
    if any(item.severity is Severity.ERROR for item in findings):
        if session.child.ending == "timed-out" and not _has(findings, FindingCode.DEADLOCK):
            return "timed-out", "the kernel did not end in time"
        if session.child.ending not in ("completed", "raised"):
            return "crashed", f"the kernel's process ended: {session.child.ending}"
        return "incorrect", ""
    if _has(findings, FindingCode.INTERPRET_PRNG_STUB):
        return "inconclusive", "hardware random bits cannot be judged off the chip"
    convicting = [answer for answer in counted if answer.question.shape.convicts]
    wrong = [answer for answer in counted if answer.judged is not None and not answer.judged.passed]
    if not judged:
        return "inconclusive", "there is no reference to compare with"
    if not counted:
        return "inconclusive", "the kernel accepts none of the shapes small enough to be interpreted"
    blamed = [answer for answer in wrong if _convicts(answer, counted)]
    if wrong and not blamed and not convicting:
        return "inconclusive", "the inputs given are too large to interpret, and it is not right on smaller ones"
    if blamed:
        return "inconclusive", "some cases could not be run"
    if not convicting and not counted:
        return "inconclusive", "nothing was compared"
    if all(_blind(answer) for answer in counted):
        return "inconclusive", "the output varies less than rounding does, so right and wrong look alike"
    return "correct", ""


def _convicts(answer: Answered, counted: Sequence[Answered]) -> bool:
    """Whether a wrong answer is the kernel's fault: the shape was asked for, or another setting gives the right one."""
    shape = answer.question.shape
    return shape.convicts or any(
        other.question.shape is shape and other.judged is not None and other.judged.passed for other in counted
    )


def _blind(answer: Answered) -> bool:
    return answer.judged is not None and all(item.resolution >= _BLIND for item in answer.judged.comparisons)


def _ended(source: KernelSource, session: Session) -> list[Finding]:
    """Findings about a process that did not live to the end, or a file that did not load."""
    if session.load_error is not None and session.load_error.error is not None and not session.answers_given:
        error = session.load_error.error
        code = {"SyntaxError": FindingCode.SYNTAX_ERROR, "MissingEntry": FindingCode.MISSING_ENTRY}.get(
            error.type_name, FindingCode.IMPORT_ERROR
        )
        text = (error.message.strip().splitlines() or [""])[-1][:500]
        return [finding(source, code, f"{error.type_name}: {text}", line=error_line(error), stage=Stage.SOURCE)]
    child = session.child
    if child.ending in ("completed", "raised"):
        return []
    culprit = next((answer.question.name for answer in session.answers if answer.judged is None), "")
    during = f" while testing {culprit}" if culprit else ""
    return [_ending(source, child, during)]


def _ending(source: KernelSource, child: ChildReport, during: str) -> Finding:
    table = {
        "exited": (
            FindingCode.PROCESS_EXITED,
            f"The kernel ended its process (code {child.exit_code}){during}.",
        ),
        "crashed": (FindingCode.PROCESS_EXITED, f"The kernel's process died of signal {child.signal}{during}."),
        "timed-out": (FindingCode.TIMED_OUT, f"The kernel did not end within {child.wall_ms / 1000:.0f} s{during}."),
        "out-of-memory": (FindingCode.OUT_OF_MEMORY, f"The kernel's process used too much memory{during}."),
        "output-flood": (FindingCode.OUTPUT_FLOOD, f"The kernel's process flooded its output{during}."),
    }
    code, message = table[child.ending]
    return finding(source, code, message, hint="Only workload(*inputs) is to be computed, with finite loops.")


def _unstable(source: KernelSource, session: Session, stage: Stage) -> list[Finding]:
    """Outputs that do not change with an input although the oracle does, or that changed an input."""
    found: list[Finding] = []
    for answer in session.answers:
        if answer.judged is None:
            continue
        if answer.judged.reply.inputs_changed:
            which = ", ".join(str(index) for index in answer.judged.reply.inputs_changed)
            message = f"The kernel changed input {which} in place."
            hint = "Declare input_output_aliases, or write to the output only."
            found.append(finding(source, FindingCode.INTEGRITY_INPUT_MUTATION, message, hint=hint, stage=stage))
        index = answer.question.sensitivity_to
        base = _base(session, answer)
        if index is None or base is None or base.judged is None:
            continue
        same = all(
            a.tobytes() == b.tobytes()
            for a, b in zip(answer.judged.reply.outputs, base.judged.reply.outputs, strict=False)
        )
        if same and answer.judged.reply.outputs and not answer.judged.passed:
            message = f"The output does not change with input {index}, on which the result depends."
            found.append(finding(source, FindingCode.INTEGRITY_INPUT_IGNORED, message, stage=stage))
    return found


def _base(session: Session, answer: Answered) -> Answered | None:
    question = answer.question
    return next(
        (
            other
            for other in session.answers
            if other.question.sensitivity_to is None
            and other.question.seed == question.seed
            and other.question.shape is question.shape
        ),
        None,
    )


def _prng(source: KernelSource, counted: Sequence[Answered], stage: Stage) -> list[Finding]:
    lines = {line for answer in counted if answer.judged for line in prng_lines(answer.judged.reply.facts)}
    message = "pltpu.prng_random_bits gives zeros in interpretation, so its effect cannot be judged off the chip."
    hint = "Use a counter-based hash in the kernel, or check on a TPU; the kernel itself may be fine."
    return [
        finding(
            source,
            FindingCode.INTERPRET_PRNG_STUB,
            message,
            line=line,
            hint=hint,
            severity=Severity.WARNING,
            stage=stage,
        )
        for line in sorted(lines)[:1]
    ]


def _report(answer: Answered, dtype: str) -> CaseReport:
    judged = answer.judged or Judged(CaseReply())
    worst = _worst(judged)
    question = answer.question
    explanation = worst.explanation if worst else ""
    if judged.reply.error is not None:
        text = judged.reply.error.message.strip().splitlines()
        explanation = f"{judged.reply.error.type_name}: {text[-1][:300] if text else ''}"
    return CaseReport(
        name=question.name,
        dims=dict(question.shape.dims),
        inputs=tuple(str(spec) for spec in question.shape.specs),
        seed=question.seed,
        dtype=dtype,
        passed=judged.passed,
        max_abs_err=worst.max_abs_err if worst else None,
        mean_abs_err=worst.mean_abs_err if worst else None,
        max_rel_err=worst.max_rel_err if worst else None,
        allowed=worst.allowed if worst else None,
        first_bad_index=worst.first_bad_index if worst else None,
        bad_fraction=worst.bad_fraction if worst else None,
        explanation=explanation,
    )


def _worst(judged: Judged) -> Any:
    if not judged.comparisons:
        return None
    return max(judged.comparisons, key=lambda item: (not item.passed, item.max_rel_err or 0.0))


def _generality(counted: Sequence[Answered], refused: Sequence[Answered]) -> str:
    right = _names(answer for answer in counted if answer.judged is not None and answer.judged.passed)
    wrong = _names(answer for answer in counted if answer.judged is not None and not answer.judged.passed)
    not_taken = _names(refused)
    if right == ["given"] and not wrong and not not_taken:
        return "Checked on the given shape only."
    parts: list[str] = []
    if right:
        parts.append("right on " + ", ".join(right))
    if wrong:
        parts.append("wrong on " + ", ".join(wrong))
    if not_taken:
        reasons = {
            (answer.judged.reply.error.message.strip().splitlines() or [""])[0][:120]
            for answer in refused
            if answer.judged and answer.judged.reply.error
        }
        parts.append(f"does not accept {', '.join(not_taken)} ({'; '.join(sorted(reasons))})")
        if not right:
            parts.append("it looks written for one shape only")
    text = "; ".join(parts)
    return (text[0].upper() + text[1:] + ".") if text else ""


def _names(answers: Any) -> list[str]:
    names: list[str] = []
    for answer in answers:
        shape = answer.question.shape
        size = " ".join(f"{key}={value}" for key, value in shape.dims.items())
        if not shape.convicts:
            size = " ".join(str(spec) for spec in shape.specs)
        name = f"{shape.name} ({size})" if size else shape.name
        if name not in names:
            names.append(name)
    return names


def _sanitizer(counted: Sequence[Answered]) -> SanitizerReport:
    options = [answer.question.options for answer in counted]
    seen = [item for answer in counted if answer.judged for item in answer.judged.reply.observations]
    return SanitizerReport(
        races_checked=any(option.detect_races for option in options),
        uninitialized_checked=any(option.uninitialized_memory == "nan" for option in options),
        out_of_bounds_checked=any(option.out_of_bounds_reads == "raise" for option in options),
        cores=tuple(sorted({option.num_cores for option in options})),
        dma_modes=tuple(sorted({option.dma_execution_mode for option in options})),
        races=sum(item.count for item in seen if item.kind == "race"),
        uninitialized_reads=sum(item.count for item in seen if item.kind == "uninitialized-read"),
        out_of_bounds_reads=sum(item.count for item in seen if item.kind == "out-of-bounds-read"),
    )


def _has(findings: Sequence[Finding], code: FindingCode) -> bool:
    return any(item.code is code for item in findings)


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    kept: dict[tuple[str, int | None], Finding] = {}
    for item in findings:
        key = (item.code.value, item.line)
        if key not in kept or (kept[key].severity is not Severity.ERROR and item.severity is Severity.ERROR):
            kept.setdefault(key, item)
            if item.severity is Severity.ERROR:
                kept[key] = item
    return list(kept.values())
