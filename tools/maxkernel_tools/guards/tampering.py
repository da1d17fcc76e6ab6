"""Changing what others rely on: attributes of imported modules, module tables, jax's own rules, what an array is."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from maxkernel_tools.guards.names import guard_finding, resolved
from maxkernel_tools.guards.vocabulary import names
from maxkernel_tools.records.findings import Finding, FindingCode
from maxkernel_tools.records.kernels import KernelSource

_PATCHERS: Final = frozenset(("setattr", "delattr"))
_TABLES: Final = frozenset(("__dict__",))


def rule(source: KernelSource, tree: ast.Module, modules: Mapping[str, str]) -> list[Finding]:
    """Find assignments into modules, computed attribute names, own lowering rules and array look-alikes."""
    found: list[Finding] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            for target in targets:
                found += _target(source, node, target, modules)
        elif isinstance(node, ast.Call):
            found += _call(source, node, modules)
        elif isinstance(node, ast.Attribute | ast.Name):
            found += _lowering(source, node, modules)
        elif isinstance(node, ast.FunctionDef) and node.name in names("array_methods"):
            message = (
                f"A class defines {node.name}: outputs must be arrays, not objects that turn into one when looked at."
            )
            found.append(guard_finding(source, FindingCode.INTEGRITY_OUTPUT_TYPE, node, message))
    return found


def _target(source: KernelSource, node: ast.stmt, target: ast.expr, modules: Mapping[str, str]) -> list[Finding]:
    if isinstance(target, ast.Tuple | ast.List):
        return [item for element in target.elts for item in _target(source, node, element, modules)]
    if isinstance(target, ast.Attribute):
        text = resolved(target, modules)
        first = _first_name(target)
        if text is not None and first in modules:
            return [_patched(source, node, text)]
        if target.attr in _TABLES:
            return [_patched(source, node, ast.unparse(target))]
    if isinstance(target, ast.Subscript):
        base = target.value
        text = resolved(base, modules) or ""
        if text.startswith("sys.modules") or (isinstance(base, ast.Attribute) and base.attr in _TABLES):
            return [_patched(source, node, ast.unparse(base))]
        if isinstance(base, ast.Call) and _called(base) in ("vars", "globals", "locals"):
            return [_patched(source, node, ast.unparse(base))]
    return []


def _call(source: KernelSource, node: ast.Call, modules: Mapping[str, str]) -> list[Finding]:
    name = _called(node)
    if name in _PATCHERS and node.args and _first_name(node.args[0]) in modules:
        return [_patched(source, node, ast.unparse(node.args[0]))]
    if name == "update" and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if isinstance(owner, ast.Attribute) and owner.attr in _TABLES:
            return [_patched(source, node, ast.unparse(owner))]
        if isinstance(owner, ast.Call) and _called(owner) in ("vars", "globals"):
            return [_patched(source, node, ast.unparse(owner))]
    if name in ("getattr", "setattr", "delattr") and len(node.args) > 1 and _assembled(node.args[1]):
        message = f"{name} with a name put together at run time hides what is used."
        return [guard_finding(source, FindingCode.INTEGRITY_TAMPERING, node, message, hint="Write the name out.")]
    return []


def _lowering(source: KernelSource, node: ast.Attribute | ast.Name, modules: Mapping[str, str]) -> list[Finding]:
    name = node.attr if isinstance(node, ast.Attribute) else modules.get(node.id, "").rsplit(".", 1)[-1]
    if name not in names("lowering"):
        return []
    root = _first_name(node)
    if isinstance(node, ast.Attribute) and root not in modules and name == "Primitive":
        return []
    message = f"{name} lets a kernel be one thing where it is tested and another where it is compiled."
    return [guard_finding(source, FindingCode.INTEGRITY_TAMPERING, node, message, hint="Use jax's own operations.")]


def _patched(source: KernelSource, node: ast.AST, what: str) -> Finding:
    message = f"The kernel changes {what}, which is not its own."
    return guard_finding(source, FindingCode.INTEGRITY_TAMPERING, node, message, hint="Leave imported modules alone.")


def _first_name(node: ast.AST) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _called(node: ast.Call) -> str | None:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else None


def _assembled(node: ast.expr) -> bool:
    """Whether a name is put together from pieces rather than written or passed."""
    if isinstance(node, ast.BinOp | ast.JoinedStr):
        return True
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("join", "decode")
