"""Names in a kernel's text: which are modules, what a dotted expression says, which code runs at all."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource


def without_main(tree: ast.Module) -> ast.Module:
    """Return the module without ``if __name__ == "__main__"`` blocks, which loading never runs."""
    return ast.Module(body=[node for node in tree.body if not _is_main(node)], type_ignores=[])


def bound_modules(tree: ast.AST) -> dict[str, str]:
    """Return local name -> dotted origin of everything imported anywhere in the file."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".", maxsplit=1)[0]] = (
                    alias.name if alias.asname else alias.name.split(".", maxsplit=1)[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def dotted(node: ast.AST) -> str | None:
    """Return ``a.b.c`` for a name or attribute chain, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def resolved(node: ast.AST, modules: Mapping[str, str]) -> str | None:
    """Return the dotted expression with an imported first name replaced by its origin."""
    text = dotted(node)
    if text is None:
        return None
    first, dot, rest = text.partition(".")
    return modules.get(first, first) + dot + rest


def shadowed(tree: ast.AST) -> set[str]:
    """Return names the file defines itself; a builtin of that name is not meant."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def guard_finding(
    source: KernelSource, code: FindingCode, node: ast.AST, message: str, *, hint: str = "", warning: bool = False
) -> Finding:
    """Return a finding of the guard stage at ``node``."""
    line = getattr(node, "lineno", None)
    return Finding(
        code=code,
        severity=Severity.WARNING if warning else Severity.ERROR,
        stage=Stage.GUARD,
        message=message,
        file=source.display_name,
        line=line,
        source_line=source.line(line),
        hint=hint,
    )


def _is_main(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    names = {side.id for side in sides if isinstance(side, ast.Name)}
    values = {side.value for side in sides if isinstance(side, ast.Constant)}
    return "__name__" in names and "__main__" in values and isinstance(node.test.ops[0], ast.Eq)
