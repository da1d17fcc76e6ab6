"""One function per class of failure; :func:`classify` tries them in order."""

from __future__ import annotations

from maxkernel_tools.diagnosing.evidence import Draft, Evidence, Rule
from maxkernel_tools.diagnosing.rules.control import CONTROL_RULES, LATE_RULES, compile_error
from maxkernel_tools.diagnosing.rules.dtypes import DTYPE_RULES
from maxkernel_tools.diagnosing.rules.layout import LAYOUT_RULES
from maxkernel_tools.diagnosing.rules.memory import MEMORY_RULES
from maxkernel_tools.diagnosing.rules.source import SOURCE_RULES, trace_error

_RULES: tuple[Rule, ...] = (
    *SOURCE_RULES,
    *CONTROL_RULES,
    *MEMORY_RULES,
    *DTYPE_RULES,
    *LAYOUT_RULES,
    *LATE_RULES,
    trace_error,
)


def classify(evidence: Evidence) -> Draft:
    """Return the first diagnosis that fits, else the compiler's own words."""
    for rule in _RULES:
        draft = rule(evidence)
        if draft is not None:
            return draft
    return compile_error(evidence)


__all__ = ["classify"]
