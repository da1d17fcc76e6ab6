"""Work that is not the kernel's own: host callbacks, emulation left on."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from maxkernel_tools.guards.names import guard_finding, resolved
from maxkernel_tools.guards.vocabulary import names
from maxkernel_tools.records.findings import Finding, FindingCode
from maxkernel_tools.records.kernels import KernelSource

_KERNEL_CALLS: Final = frozenset(("pallas_call", "core_map", "kernel", "mpmd_map"))


def rule(source: KernelSource, tree: ast.Module, modules: Mapping[str, str]) -> list[Finding]:
    """Find callbacks, and kernel calls told to interpret."""
    found: list[Finding] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            text = resolved(node, modules) or ""
            imported = text.split(".", maxsplit=1)[0] == "jax"
            if imported and (text.rsplit(".", 1)[-1] in names("callbacks") or text in names("callback_paths")):
                message = f"{text} hands work to the host."
                found.append(guard_finding(source, FindingCode.INTEGRITY_HOST_CALLBACK, node, message))
        elif isinstance(node, ast.Call) and _called(node) in _KERNEL_CALLS:
            for keyword in node.keywords:
                if keyword.arg == "interpret" and isinstance(keyword.value, ast.Constant) and keyword.value.value:
                    message = "interpret is left on: the kernel would be emulated, not compiled."
                    hint = "Remove it; the lab interprets by itself."
                    found.append(
                        guard_finding(
                            source, FindingCode.INTEGRITY_INTERPRET_LEFT_ON, keyword.value, message, hint=hint
                        )
                    )
    return found


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
