"""A kernel that counts its calls: what it computes would depend on how often it was asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from maxkernel_tools.guards.names import guard_finding
from maxkernel_tools.records.findings import Finding, FindingCode
from maxkernel_tools.records.kernels import KernelSource


def rule(source: KernelSource, tree: ast.Module, modules: Mapping[str, str]) -> list[Finding]:
    """Find counters that live in the module and grow inside functions; a table of built kernels may stay."""
    del modules
    outer = _module_names(tree) - _local_names(tree)
    found: list[Finding] = []
    for function in _functions(tree):
        counted = {
            name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
        }
        for node in ast.walk(function):
            if isinstance(node, ast.AugAssign) and _counts(node.target, outer, counted):
                found.append(_finding(source, node, ast.unparse(node.target)))
            elif isinstance(node, ast.Call) and (name := _drawn_from(node)) in outer:
                found.append(_finding(source, node, name))
    return found


def _counts(target: ast.expr, outer: set[str], counted: set[str]) -> bool:
    if isinstance(target, ast.Name):
        return target.id in counted and target.id in outer | counted
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return isinstance(target, ast.Name) and target.id in outer


def _drawn_from(node: ast.Call) -> str:
    """``COUNT`` in ``next(COUNT)``, else empty."""
    if not isinstance(node.func, ast.Name) or node.func.id != "next" or not node.args:
        return ""
    return node.args[0].id if isinstance(node.args[0], ast.Name) else ""


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _module_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}
    return names


def _local_names(tree: ast.Module) -> set[str]:
    """Names bound inside functions, arguments included; a reference's ``+=`` on one of them is the kernel's work."""
    names: set[str] = set()
    for function in _functions(tree):
        declared = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in declared:
                names.add(node.id)
    return names


def _finding(source: KernelSource, node: ast.AST, what: str) -> Finding:
    message = f"The kernel counts in {what}, so its result may depend on how often it was called."
    hint = "Let workload depend on its arguments only."
    return guard_finding(source, FindingCode.INTEGRITY_UNSTABLE_OUTPUT, node, message, hint=hint)
