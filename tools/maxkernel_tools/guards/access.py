"""Reaching for what is not the kernel's: files, processes, the network, the interpreter's insides, the reference."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from maxkernel_tools.guards.names import guard_finding, resolved, shadowed
from maxkernel_tools.guards.vocabulary import names
from maxkernel_tools.records.findings import Finding, FindingCode
from maxkernel_tools.records.kernels import KernelSource

_HINT: Final = "A kernel needs its inputs only; remove it."


def rule(source: KernelSource, tree: ast.Module, modules: Mapping[str, str]) -> list[Finding]:
    """Find denied imports, uses, builtins and attributes."""
    found: list[Finding] = []
    own = shadowed(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found += _import(source, node, alias.name)
        elif isinstance(node, ast.ImportFrom):
            found += _import(source, node, node.module or "", [alias.name for alias in node.names])
        elif isinstance(node, ast.Attribute):
            found += _attribute(source, node, modules)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found += _name(source, node, modules, own)
    return found


def _import(source: KernelSource, node: ast.stmt, name: str, parts: list[str] | None = None) -> list[Finding]:
    root = name.split(".", maxsplit=1)[0]
    if root in names("references"):
        message = f"The kernel imports {name}: neither the reference nor the lab may be called."
        return [guard_finding(source, FindingCode.INTEGRITY_REFERENCE_CALL, node, message, hint=_HINT)]
    whole = [name, *(f"{name}.{part}" for part in parts or [])]
    if any(item in names("allowed_parts") for item in whole):
        return []
    if root in names("denied_modules"):
        return [_forbidden(source, node, f"imports {name}")]
    used = [item for item in whole[1:] if _denied(item)]
    return [_forbidden(source, node, f"imports {item}") for item in used]


def _attribute(source: KernelSource, node: ast.Attribute, modules: Mapping[str, str]) -> list[Finding]:
    text = resolved(node, modules)
    if text is not None and text.split(".", maxsplit=1)[0] in _roots(modules) and _denied(text):
        return [_forbidden(source, node, f"uses {text}")]
    if node.attr in names("denied_attributes"):
        return [_forbidden(source, node, f"reads {node.attr}")]
    return []


def _name(source: KernelSource, node: ast.Name, modules: Mapping[str, str], own: set[str]) -> list[Finding]:
    if node.id in names("denied_builtins") and node.id not in own and node.id not in modules:
        return [_forbidden(source, node, f"uses the builtin {node.id}")]
    if node.id in ("__builtins__", "__file__", "__spec__", "__loader__"):
        return [_forbidden(source, node, f"reads {node.id}")]
    return []


def _roots(modules: Mapping[str, str]) -> set[str]:
    return {origin.split(".", maxsplit=1)[0] for origin in modules.values()}


def _denied(text: str) -> bool:
    parts = text.split(".")
    return any(".".join(parts[:length]) in names("denied_uses") for length in range(2, len(parts) + 1))


def _forbidden(source: KernelSource, node: ast.AST, what: str) -> Finding:
    message = f"The kernel {what}."
    return guard_finding(source, FindingCode.INTEGRITY_FORBIDDEN_ACCESS, node, message, hint=_HINT)
