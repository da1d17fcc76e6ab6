"""Writes tuned values into a copy of the kernel's source; the user's file is never touched."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from maxkernel_tools.records.kernels import ParamValue


def with_params(text: str, params: Mapping[str, ParamValue]) -> str:
    """Return ``text`` with ``PARAMS`` updated by ``params``; an assignment is added after the imports where none is.

    Values that are not literals in the source keep their place; the new ones override them below the assignment.
    """
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    node = next((found for item in tree.body if (found := _assignment(item)) is not None), None)
    if node is None:
        at = max(
            (item.end_lineno or 0 for item in tree.body if isinstance(item, ast.Import | ast.ImportFrom)), default=0
        )
        return "".join([*lines[:at], f"\nPARAMS = {_spell(params)}\n", *lines[at:]])
    value = node.value
    end = node.end_lineno or node.lineno
    try:
        old: dict[str, ParamValue] = dict(ast.literal_eval(value)) if value is not None else {}
    except (ValueError, TypeError):
        return "".join([*lines[:end], f"PARAMS.update({_spell(params)})\n", *lines[end:]])
    return "".join([*lines[: node.lineno - 1], f"PARAMS = {_spell({**old, **params})}\n", *lines[end:]])


def _assignment(item: ast.stmt) -> ast.Assign | ast.AnnAssign | None:
    if isinstance(item, ast.Assign):
        named = any(isinstance(target, ast.Name) and target.id == "PARAMS" for target in item.targets)
        return item if named else None
    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id == "PARAMS":
        return item
    return None


def _spell(params: Mapping[str, ParamValue]) -> str:
    return "{" + ", ".join(f"{name!r}: {value!r}" for name, value in params.items()).replace("'", '"') + "}"
