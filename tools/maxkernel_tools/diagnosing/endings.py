"""What it means when a process died or was stopped instead of answering."""

from __future__ import annotations

import re

from maxkernel_tools.diagnosing.evidence import Draft, Evidence
from maxkernel_tools.diagnosing.wording import mib, shorten
from maxkernel_tools.records.findings import FindingCode, Stage
from maxkernel_tools.runtime import ChildReport, RawError

_FATAL = re.compile(r"^F\d{4} [\d:.]+\s+\d+ (?P<place>\S+?:\d+)\] (?P<text>.+)$", re.MULTILINE)
_BISECT = (
    "Remove parts of the body until it compiles, starting with reshapes, transposes and unusual dtypes; or try "
    "another toolchain."
)
MASK_HINT = (
    "Build the mask in its final rank with lax.broadcasted_iota(jnp.int32, shape, axis), or reshape the integers "
    "before comparing them."
)
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV"}


def fatal_line(crash_log: str) -> str:
    """Return the fatal line of a crash log: ``layout.h:253 Check failed: ...``, or the last line that says anything."""
    match = _FATAL.search(crash_log)
    if match is not None:
        return f"{match.group('place')} {match.group('text').strip()}"
    lines = [
        line.strip() for line in crash_log.splitlines() if line.strip() and not line.startswith(("WARNING", "    @"))
    ]
    telling = [line for line in lines if re.search(r"fail|fatal|abort|error|signal", line, re.IGNORECASE)]
    return (telling or lines or ["no message"])[-1]


def compiler_crash(evidence: Evidence, crash_log: str, child: ChildReport) -> Draft:
    """The compiler aborted: say its last words and look for the construct that does this."""
    signal = _SIGNALS.get(child.signal or 0, f"signal {child.signal}" if child.signal else "an abort")
    cause = _suspect(evidence)
    what, hint, line = cause or (
        "",
        _BISECT,
        evidence.line or evidence.call_line,
    )
    return Draft(
        FindingCode.COMPILER_CRASH,
        f"The compiler died ({signal}) without an answer: {shorten(fatal_line(crash_log), 200)}.{what}",
        hint,
        line=line,
        stage=Stage.COMPILE,
    )


def _suspect(evidence: Evidence) -> tuple[str, str, int | None] | None:
    for call in evidence.calls:
        for suspect in call.get("suspects", ()):
            if suspect.get("kind") == "mask-reshape":
                return (
                    f" The likely cause is the boolean reshape {suspect.get('detail', '')} at this line.",
                    MASK_HINT,
                    suspect.get("line"),
                )
    return None


def child_failure(child: ChildReport, stage: Stage, doing: str) -> Draft | None:
    """A process that loads candidate code ended without an answer; None where it completed."""
    last = shorten(child.stderr_tail or child.stdout_tail, 160)
    said = f" It last wrote: {last}" if last else ""
    seconds = child.wall_ms / 1000
    if child.ending in ("completed", "raised"):
        return None
    if child.ending == "timed-out":
        return Draft(
            FindingCode.TIMED_OUT,
            f"{doing} did not finish in {seconds:.0f} s and was stopped.{said}",
            "Look for a Python loop that never ends or unrolls thousands of steps; use lax.fori_loop.",
            stage=stage,
        )
    if child.ending == "out-of-memory":
        peak = f" at {mib(child.peak_rss_bytes)}" if child.peak_rss_bytes else ""
        return Draft(
            FindingCode.OUT_OF_MEMORY,
            f"{doing} used more memory than allowed{peak} and was stopped.",
            "Do not create large arrays at import or trace time; the kernel gets abstract inputs.",
            stage=stage,
        )
    if child.ending == "output-flood":
        return Draft(
            FindingCode.OUTPUT_FLOOD,
            f"{doing} printed without end and was stopped.{said}",
            "Remove the printing.",
            stage=stage,
        )
    if child.ending == "exited":
        return Draft(
            FindingCode.PROCESS_EXITED,
            f"The code ended its process (exit code {child.exit_code}) while {doing.lower()}.{said}",
            "Remove calls such as sys.exit and os._exit; raise an exception instead.",
            stage=stage,
        )
    signal = _SIGNALS.get(child.signal or 0, str(child.signal))
    return Draft(
        FindingCode.PROCESS_EXITED,
        f"The process died ({signal}) while {doing.lower()}.{said}",
        "Remove native calls from the file; a kernel needs only jax.",
        stage=stage,
    )


def blowup(error: RawError | None, child: ChildReport) -> Draft | None:
    """The compiler ran out of time or memory on this kernel."""
    if child.ending not in ("timed-out", "out-of-memory") and (error is None or error.type_name != "DeadlineExceeded"):
        return None
    if child.exceeded in ("clock-time", "no-progress"):
        return _stopped_by_clock(child)
    seconds = child.wall_ms / 1000
    if child.ending == "out-of-memory":
        what = "memory on this kernel" + (f" at {mib(child.peak_rss_bytes)}" if child.peak_rss_bytes else "")
    elif child.cpu_ms is None:
        what = f"time on this kernel ({seconds:.0f} s)"
    else:
        used = f"{child.cpu_ms / 1000:.0f} s of processor time ({seconds:.0f} s by the clock)"
        what = f"time on this kernel: it used {used}; {child.allowed_s:.0f} s are allowed"
    return Draft(
        FindingCode.COMPILE_TIME_BLOWUP,
        f"The compiler ran out of {what}.",
        "Make the unrolled body smaller: replace Python loops by lax.fori_loop (unroll a few), and shrink blocks, "
        "which are unrolled into registers.",
        stage=Stage.COMPILE,
    )


def _stopped_by_clock(child: ChildReport) -> Draft:
    """The compile was ended though it had not used up its processor time: nothing is said about the kernel."""
    seconds, used = child.wall_ms / 1000, (child.cpu_ms or 0) / 1000
    if child.exceeded == "no-progress":
        message = (
            f"The compiler hung: it used no processor time for {child.allowed_s:.0f} s and was stopped after "
            f"{seconds:.0f} s, {used:.0f} s of them processor time."
        )
    else:
        message = (
            f"The compiler was stopped after {seconds:.0f} s by the clock ({child.allowed_s:.0f} s are allowed), of "
            f"which it got {used:.0f} s of processor time: the machine is too busy to say more about this kernel."
        )
    return Draft(FindingCode.TIMED_OUT, message, "Call again when the machine has less to do.", stage=Stage.COMPILE)
