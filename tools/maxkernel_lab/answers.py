"""What the lab answers when a call was wrong or the lab itself failed: ordinary results, which every face can show."""

from __future__ import annotations

from maxkernel_tools.errors import MachineryError, MisuseError, UnavailableError
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.results import ToolResult


def misuse_result(error: MisuseError) -> ToolResult:
    """Return the answer to a call that was wrong: what was given, what is allowed, what to do."""
    finding = Finding(
        code=FindingCode.INVALID_ARGUMENT,
        severity=Severity.ERROR,
        stage=Stage.LAB,
        message=f"{error.given} Allowed: {error.allowed}",
        hint=error.action,
    )
    return ToolResult(ok=False, summary=str(error), findings=(finding,))


def machinery_result(error: MachineryError) -> ToolResult:
    """Return the answer when the lab failed; it says nothing about the kernel."""
    unavailable = isinstance(error, UnavailableError)
    finding = Finding(
        code=FindingCode.LAB_UNAVAILABLE if unavailable else FindingCode.MACHINERY_FAILED,
        severity=Severity.ERROR,
        stage=Stage.LAB,
        message=str(error),
        hint="describe_environment tells what this lab can do." if unavailable else "Try again; see the server's log.",
    )
    lead = "" if unavailable else "The lab failed, not the kernel: "
    return ToolResult(ok=False, state="failed", summary=f"{lead}{error}", findings=(finding,))


def defect_result(name: str) -> ToolResult:
    """Return the answer when the lab met an error nobody foresaw; its text stays in the log."""
    return machinery_result(MachineryError(f"{name} met an unexpected error."))


def is_misuse(result: ToolResult) -> bool:
    """Whether ``result`` says that the call was wrong."""
    return any(finding.code is FindingCode.INVALID_ARGUMENT for finding in result.findings)
