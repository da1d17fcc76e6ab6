"""Lines of the kernel's text that a finding points at: where a keyword of a kernel call stands. Nothing is run."""

from __future__ import annotations

import ast

from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource


def keyword_line(source: KernelSource, call_line: int | None, keyword: str) -> int | None:
    """Return the line of ``keyword=`` in the call nearest to ``call_line``, else ``call_line``.

    A kernel call spans many lines; jax reports its first one, a person edits the keyword.
    """
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError):
        return call_line
    lines = [node.value.lineno for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == keyword]
    keys = [
        key.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and key.value == keyword
    ]
    found = lines + keys
    if not found:
        return call_line
    if call_line is None:
        return found[0] if len(found) == 1 else None
    after = [line for line in found if line >= call_line]
    return min(after or found, key=lambda line: abs(line - call_line))


def finding(
    source: KernelSource,
    code: FindingCode,
    message: str,
    *,
    line: int | None = None,
    hint: str = "",
    severity: Severity = Severity.ERROR,
    stage: Stage = Stage.TEST,
) -> Finding:
    """Return a finding about ``source`` with the text of its line."""
    return Finding(
        code=code,
        severity=severity,
        stage=stage,
        message=message,
        file=source.display_name,
        line=line,
        source_line=source.line(line),
        hint=hint,
    )
