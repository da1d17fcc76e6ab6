"""Writes the exported kernel and the report into the job's folder."""

from __future__ import annotations

import textwrap

from maxkernel_orchestrators.job.folder import JobFolder
from maxkernel_orchestrators.reporting.outcome import TIME_WORDS, OptimizationResult
from maxkernel_orchestrators.reporting.page import page
from maxkernel_orchestrators.reporting.params import with_params
from maxkernel_orchestrators.stepping.ending import Ending

KERNEL = "best_kernel.py"


def export(folder: JobFolder, ending: Ending, outcome: OptimizationResult) -> OptimizationResult:
    """Write ``best_kernel.py`` (verified kernels only) and ``report.html``; return the result with their paths."""
    best, final = ending.best, ending.final_test
    kernel_path: str | None = None
    if outcome.ok and best is not None and final is not None and final.verdict == "correct" and best.verified:
        text = with_params(best.source, best.params).rstrip() + "\n"
        kernel_path = str(folder.write(KERNEL, text + _footer(outcome)))
    else:
        # An earlier session may have been cut off after writing one; what is there must be what the result says.
        (folder.path / KERNEL).unlink(missing_ok=True)
    whole = outcome.model_copy(
        update={
            "kernel_path": kernel_path,
            "record_path": str(folder.path),
            "report_path": str(folder.path / "report.html"),
        }
    )
    folder.write("report.html", page(whole, ending))
    return whole


def _footer(outcome: OptimizationResult) -> str:
    """What a reader of the file alone must know, as comments."""
    ours = outcome.ours
    facts = [
        f"Verified by MaxKernel MCP ({outcome.verdict_level}: {outcome.verdict}), run {outcome.run_id}, "
        "in interpret mode, which is not silicon. Shapes: " + "; ".join(dict.fromkeys(outcome.shapes)) + "."
    ]
    if ours and ours.time_us is not None:
        facts.append(f"Time on {outcome.target}: {ours.time_us:.1f} us, {TIME_WORDS[ours.time_source]}.")
    lines = [line for fact in facts for line in textwrap.wrap(fact, 116)]
    return "\n\n" + "".join(f"# {line}\n" for line in lines)
