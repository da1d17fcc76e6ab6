"""Finds, in a kernel's text, the line a person must edit: the block spec of an operand, the grid, a copy's descriptor.

Works on the syntax tree alone. jax says which call and which operand is meant; this says where it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from maxkernel_tools.records.kernels import KernelSource

_CALL_NAMES = ("pallas_call", "kernel")
_COPY_NAMES = ("make_async_copy", "make_async_remote_copy", "async_copy", "async_remote_copy")


@dataclass(frozen=True)
class SourceMap:
    """The syntax tree of one kernel file; empty where the text does not parse."""

    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        try:
            return ast.parse(self.text)
        except SyntaxError:
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def _nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    def pallas_call(self, line: int | None) -> ast.Call | None:
        """Return the ``pallas_call(...)`` expression written at ``line`` (or the only one there is)."""
        calls = [node for node in self._nodes if isinstance(node, ast.Call) and _is_pallas_call(node)]
        if line is not None:
            around = [node for node in calls if node.lineno <= line <= (node.end_lineno or node.lineno)]
            if around:
                return min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
        return calls[0] if len(calls) == 1 else None

    def inside_pallas_call(self, line: int) -> bool:
        """Whether ``line`` belongs to a ``pallas_call`` expression rather than to a kernel body."""
        for node in self._nodes:
            if isinstance(node, ast.Call) and _is_pallas_call(node):
                whole = self._applied(node)
                if whole.lineno <= line <= (whole.end_lineno or whole.lineno):
                    return True
        return False

    def _applied(self, call: ast.Call) -> ast.Call:
        for node in self._nodes:
            if isinstance(node, ast.Call) and node.func is call:
                return node
        return call

    def keyword_line(self, call_line: int | None, *names: str) -> int | None:
        """Return the line of the value of keyword ``names[0]`` (else the next name) of a ``pallas_call``.

        Grid specs and compiler parameters given by name are followed.
        """
        call = self.pallas_call(call_line)
        if call is None:
            return None
        for name in names:
            value = self._keyword(call, name, depth=0)
            if value is not None:
                return self._resolved(value).lineno
        return None

    def operand_line(
        self, call_line: int | None, kind: str, index: int, index_map_line: int | None = None
    ) -> int | None:
        """Return the line of the block spec (or scratch shape) of an operand.

        Args:
            call_line: a line of the ``pallas_call``.
            kind: ``in``, ``out``, ``scratch`` or ``prefetch``.
            index: position among its kind.
            index_map_line: where its index map was defined, as jax saw it.
        """
        if index_map_line is not None:
            spec = self._block_spec_around(index_map_line)
            if spec is not None:
                return spec.lineno
        call = self.pallas_call(call_line)
        if call is None:
            return index_map_line
        names = {"in": ("in_specs",), "out": ("out_specs",), "scratch": ("scratch_shapes", "scratch_types")}.get(
            kind, ()
        )
        for name in names:
            value = self._keyword(call, name, depth=0)
            if value is None:
                continue
            value = self._resolved(value)
            items = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
            plain = not any(isinstance(item, ast.Starred) for item in items)
            if plain and index < len(items):
                return self._resolved(items[index]).lineno
            return value.lineno
        return index_map_line

    def copy_line(self, line: int | None) -> int | None:
        """Return where the asynchronous copy started or awaited at ``line`` is described."""
        if line is None:
            return None
        for node in self._nodes:
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr not in ("start", "wait", "wait_send", "wait_recv"):
                continue
            if not node.lineno <= line <= (node.end_lineno or node.lineno):
                continue
            found = self._copy_in(node.func.value, line, depth=0)
            if found is not None:
                return found
        return line

    def text_line(self, *needles: str) -> int | None:
        """Return the first line of code that contains one of ``needles``."""
        for number, text in enumerate(self.text.splitlines(), start=1):
            code = text.partition("#")[0]
            if any(needle in code for needle in needles):
                return number
        return None

    def captured_line(self, function: str) -> int | None:
        """Return where ``function``, or a function it calls, first uses an array made outside it."""
        return self._captured(function, frozenset())

    def _captured(self, function: str, seen: frozenset[str]) -> int | None:
        found = self._function(function)
        if found is None or function in seen:
            return None
        nodes = list(ast.walk(found))
        own = _parameters(found) | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        uses = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in own]
        outer = {
            name
            for other in self._functions()
            if other is not found and _holds(other, found)
            for name in _parameters(other)
        }
        for use in sorted(uses, key=lambda node: (node.lineno, node.col_offset)):
            if use.id in outer:
                return use.lineno
            inner = self._captured(use.id, seen | {function})
            if inner is not None:
                return inner
            if isinstance(self._assigned(use.id, 1 << 30), ast.Call | ast.BinOp | ast.Subscript):
                return use.lineno
        return None

    def _functions(self) -> list[ast.FunctionDef]:
        return [node for node in self._nodes if isinstance(node, ast.FunctionDef)]

    def function_line(self, name: str) -> int | None:
        """Return the line of ``def name``."""
        found = self._function(name)
        return None if found is None else found.lineno

    def _copy_in(self, node: ast.expr, line: int, depth: int) -> int | None:
        if depth > 4:
            return None
        if isinstance(node, ast.Call):
            if _called(node) in _COPY_NAMES:
                return node.lineno
            function = self._function(_called(node))
            if function is not None:
                inner = [n for n in ast.walk(function) if isinstance(n, ast.Call) and _called(n) in _COPY_NAMES]
                return inner[0].lineno if inner else None
        if isinstance(node, ast.Name):
            value = self._assigned(node.id, line)
            return None if value is None else self._copy_in(value, value.lineno, depth + 1)
        if isinstance(node, ast.Subscript | ast.Attribute):
            return self._copy_in(node.value, line, depth + 1)
        return None

    def _function(self, name: str) -> ast.FunctionDef | None:
        for node in self._nodes:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
        return None

    def _block_spec_around(self, line: int) -> ast.Call | None:
        best: ast.Call | None = None
        for node in self._nodes:
            if not (isinstance(node, ast.Call) and _called(node) == "BlockSpec"):
                continue
            if node.lineno <= line <= (node.end_lineno or node.lineno) and (best is None or node.lineno >= best.lineno):
                best = node
        return best

    def _keyword(self, call: ast.Call, name: str, depth: int) -> ast.expr | None:
        for keyword in call.keywords:
            if keyword.arg == name:
                return keyword.value
        if depth >= 2:
            return None
        for keyword in call.keywords:
            value = self._resolved(keyword.value)
            if isinstance(value, ast.Call) and keyword.arg in ("grid_spec", "compiler_params", "cost_estimate"):
                found = self._keyword(value, name, depth + 1)
                if found is not None:
                    return found
        return None

    def _resolved(self, value: ast.expr) -> ast.expr:
        for _ in range(4):
            if not isinstance(value, ast.Name):
                return value
            assigned = self._assigned(value.id, value.lineno)
            if assigned is None:
                return value
            value = assigned
        return value

    def _assigned(self, name: str, before: int) -> ast.expr | None:
        """Return the last value assigned to ``name`` above ``before``, in the innermost scope that has one."""
        best: ast.expr | None = None
        for node, value in _assignments(self._nodes, name):
            if node.lineno <= before and (best is None or node.lineno >= best.lineno):
                best = value
        return best


def _assignments(nodes: tuple[ast.AST, ...], name: str) -> Iterator[tuple[ast.stmt, ast.expr]]:
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield node, node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for part, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(part, ast.Name) and part.id == name:
                            yield node, value
        elif isinstance(node, ast.AnnAssign) and node.value is not None and _is_named(node.target, name):
            yield node, node.value


def _parameters(function: ast.FunctionDef) -> set[str]:
    arguments = function.args
    return {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _holds(outer: ast.FunctionDef, inner: ast.FunctionDef) -> bool:
    return outer.lineno <= inner.lineno and (inner.end_lineno or 0) <= (outer.end_lineno or 0)


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_pallas_call(node: ast.Call) -> bool:
    if _called(node) in _CALL_NAMES:
        return True
    first = node.args[0] if node.args else None
    return _called(node) == "partial" and isinstance(first, ast.Attribute | ast.Name) and _name(first) in _CALL_NAMES


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


@lru_cache(maxsize=64)
def _cached(text: str) -> SourceMap:
    return SourceMap(text)


def source_map(kernel: KernelSource) -> SourceMap:
    """Return the map of a kernel's text."""
    return _cached(kernel.text)
