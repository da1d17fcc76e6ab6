"""Puts the values a kernel was verified with into its text, so that the plain file runs with them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from maxkernel_tools.records.kernels import ParamValue


def with_params(source: str, params: Mapping[str, ParamValue]) -> str:
    """Return ``source`` with its ``PARAMS`` literal, and the matching defaults of its entry, set to ``params``.

    Text is replaced where the syntax tree says the values stand; everything else stays as it was written. A file
    without a literal ``PARAMS`` gets one line at its end instead.
    """
    if not params:
        return source
    tree = ast.parse(source)
    edits: list[tuple[ast.expr, str]] = []
    found = False
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["PARAMS"]:
            edits.append((node.value, _literal(_merged(node.value, params))))
            found = True
        if isinstance(node, ast.FunctionDef) and node.name in {"workload", "computation"}:
            edits.extend(_defaults(node, params))
    text = _replaced(source, edits)
    return text if found else f"{text.rstrip()}\n\n\nPARAMS = {_literal(dict(params))}\n"


def _merged(value: ast.expr, params: Mapping[str, ParamValue]) -> dict[str, ParamValue]:
    try:
        declared = ast.literal_eval(value)
    except ValueError:
        declared = {}
    return {**(declared if isinstance(declared, dict) else {}), **params}


def _defaults(node: ast.FunctionDef, params: Mapping[str, ParamValue]) -> list[tuple[ast.expr, str]]:
    arguments = node.args.posonlyargs + node.args.args
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(arguments[len(arguments) - len(node.args.defaults) :], node.args.defaults, strict=True),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    return [
        (default, repr(params[argument.arg]))
        for argument, default in pairs
        if default is not None and argument.arg in params
    ]


def _literal(params: Mapping[str, ParamValue]) -> str:
    return "{" + ", ".join(f'"{name}": {value!r}' for name, value in params.items()) + "}"


def _replaced(source: str, edits: list[tuple[ast.expr, str]]) -> str:
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    raw = source.encode()
    spans = [
        (
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0),
            text,
        )
        for node, text in edits
    ]
    for begin, end, text in sorted(spans, reverse=True):
        raw = raw[:begin] + text.encode() + raw[end:]
    return raw.decode()
