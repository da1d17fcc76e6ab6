"""Static rules over a kernel's text: a first filter that names the line, never the proof.

What a kernel may not reach is held by the sandbox, and what it may not fake by fresh inputs in other processes; these
rules only say early and clearly what would not have helped. An honest kernel must pass, so a rule needs a use, not a
suspicion: code under ``if __name__ == "__main__"`` is not looked at, a fallback between two spellings of an API is
not a fallback.
"""

from __future__ import annotations

import ast

from maxkernel_tools.guards import access, fallbacks, laundering, state, tampering
from maxkernel_tools.guards.names import bound_modules, without_main
from maxkernel_tools.records.findings import Finding, Severity
from maxkernel_tools.records.kernels import KernelSource


def inspect_source(source: KernelSource) -> tuple[Finding, ...]:
    """Return what the text alone gives away; empty for text that does not parse, which loading reports better."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    body = without_main(tree)
    modules = bound_modules(body)
    found: list[Finding] = []
    for rule in (access.rule, tampering.rule, laundering.rule, fallbacks.rule, state.rule):
        found += rule(source, body, modules)
    seen: set[tuple[str, int | None]] = set()
    kept: list[Finding] = []
    for item in sorted(found, key=lambda item: (item.severity is not Severity.ERROR, item.line or 0)):
        if (item.code.value, item.line) not in seen:
            seen.add((item.code.value, item.line))
            kept.append(item)
    return tuple(kept)


__all__ = ["inspect_source"]
