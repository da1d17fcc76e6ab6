"""A kernel call wrapped in ``try`` whose handler answers by other means: when the kernel fails, nobody would know."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from maxkernel_tools.guards.names import guard_finding
from maxkernel_tools.records.findings import Finding, FindingCode
from maxkernel_tools.records.kernels import KernelSource


def rule(source: KernelSource, tree: ast.Module, modules: Mapping[str, str]) -> list[Finding]:
    """Find tries around a kernel call whose handler does not raise."""
    del modules
    reaching = _reaching(tree)
    found: list[Finding] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try) or not _calls_any(node.body, reaching):
            continue
        for handler in node.handlers:
            if not any(isinstance(inner, ast.Raise) for inner in ast.walk(handler)) and not _retries(handler, reaching):
                message = "A failing kernel is caught and answered by other means."
                hint = "Let it fail: a kernel that does not compile is not a kernel."
                found.append(guard_finding(source, FindingCode.INTEGRITY_FALLBACK, handler, message, hint=hint))
    return found


def _retries(handler: ast.ExceptHandler, reaching: set[str]) -> bool:
    """Whether the handler calls a kernel too: another spelling of the same call is compatibility, not a fallback."""
    return _calls_any(handler.body, reaching) and not any(
        isinstance(inner, ast.Call) and _called(inner) in ("dot", "matmul", "einsum") for inner in ast.walk(handler)
    )


def _reaching(tree: ast.Module) -> set[str]:
    """Names of functions in the file that lead to a kernel call, and the kernel calls themselves."""
    reaching = {"pallas_call", "core_map"}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    grew = True
    while grew:
        grew = False
        for function in functions:
            if function.name not in reaching and _calls_any(function.body, reaching):
                reaching.add(function.name)
                grew = True
    return reaching


def _calls_any(body: list[ast.stmt], names: set[str]) -> bool:
    return any(
        isinstance(node, ast.Call) and _called(node) in names for statement in body for node in ast.walk(statement)
    )


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
