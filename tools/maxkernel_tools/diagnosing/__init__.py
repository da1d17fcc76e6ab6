"""Turns what the compiler, the lowering and the jaxpr say into findings a person can act on.

Owns the classification and the advice. Reads raw errors, crash logs and facts; runs nothing and imports no jax.
"""

from maxkernel_tools.diagnosing.failing import diagnose_compile, diagnose_trace, hopeless
from maxkernel_tools.diagnosing.silent import silent_findings

__all__ = ["diagnose_compile", "diagnose_trace", "hopeless", "silent_findings"]
