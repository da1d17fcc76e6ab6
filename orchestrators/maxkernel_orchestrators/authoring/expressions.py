"""Turns the part of a graph that works value by value (and along whole rows) into readable jax.numpy text.

Owns the table of primitives and the naming of intermediate values. Tiles are two-dimensional: a value that varies only
along columns is ``(1, columns)``, only along rows ``(rows, 1)``, so that every broadcast of the reference is implicit.
Floating-point values are float32 throughout: the reference's roundings in between are dropped, which is never less
accurate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from maxkernel_orchestrators.authoring.graphs import Graph, Literal, Node, Unrecognised, format_number
from maxkernel_orchestrators.authoring.placing import Frame, Labels, operand_labels

_INLINE = 64  # longest text that is nested into its only user rather than named
_ATOM, _CALL, _POWER, _UNARY, _PRODUCT, _SUM, _COMPARE = 9, 8, 7, 6, 5, 4, 1

_INFIX: dict[str, tuple[str, int]] = {
    "mul": ("*", _PRODUCT),
    "div": ("/", _PRODUCT),
    "add": ("+", _SUM),
    "add_any": ("+", _SUM),
    "sub": ("-", _SUM),
    "gt": (">", _COMPARE),
    "ge": (">=", _COMPARE),
    "lt": ("<", _COMPARE),
    "le": ("<=", _COMPARE),
    "eq": ("==", _COMPARE),
    "ne": ("!=", _COMPARE),
    "and": ("&", 3),
    "xor": ("^", 2),
    "or": ("|", 2),
}
_FUNCTIONS: dict[str, str] = {
    "max": "jnp.maximum({0}, {1})",
    "min": "jnp.minimum({0}, {1})",
    "exp": "jnp.exp({0})",
    "exp2": "jnp.exp2({0})",
    "log": "jnp.log({0})",
    "log1p": "jnp.log1p({0})",
    "expm1": "(jnp.exp({0}) - 1.0)",
    "tanh": "jnp.tanh({0})",
    "logistic": "jax.nn.sigmoid({0})",
    "sin": "jnp.sin({0})",
    "cos": "jnp.cos({0})",
    "sqrt": "jnp.sqrt({0})",
    "rsqrt": "lax.rsqrt({0})",
    "abs": "jnp.abs({0})",
    "sign": "jnp.sign({0})",
    "floor": "jnp.floor({0})",
    "ceil": "jnp.ceil({0})",
    "round": "jnp.round({0})",
    "erf": "lax.erf({0})",
    "erfc": "(1.0 - lax.erf({0}))",
    "pow": "jnp.power({0}, {1})",
    "is_finite": "jnp.isfinite({0})",
    "clamp": "jnp.clip({1}, {0}, {2})",
    "select_n": "jnp.where({0}, {2}, {1})",
}
_REDUCTIONS: dict[str, tuple[str, str]] = {
    "reduce_sum": ("jnp.sum", "total"),
    "reduce_max": ("jnp.max", "largest"),
    "reduce_min": ("jnp.min", "smallest"),
}
_NAMES = {"exp": "powers", "rsqrt": "inverse_root", "sqrt": "root", "tanh": "bent", "logistic": "gate"}
_TRANSPARENT = frozenset(
    {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "copy", "copy_p", "stop_gradient"}
    | {"optimization_barrier", "reduce_precision"}
)
_FOLDS: dict[str, Callable[[float, float], float | int | bool]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": max,
    "min": min,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
SUPPORTED = (
    frozenset(_INFIX)
    | set(_FUNCTIONS)
    | set(_REDUCTIONS)
    | _TRANSPARENT
    | {
        "neg",
        "not",
        "square",
        "integer_pow",
        "convert_element_type",
    }
)


@dataclass(frozen=True)
class Expr:
    """A piece of Python text.

    Attributes:
        text: the code.
        binds: precedence of its outermost operator, larger binds tighter.
        kind: ``full``, ``row``, ``column`` or ``scalar``: which way it varies.
        type: ``float``, ``int`` or ``bool``.
        value: its value at full size, where it is a constant.
        symbolic: it stands for a size, so that its text must be kept although its value is known.
    """

    text: str
    binds: int
    kind: str
    type: str
    value: float | int | bool | None = None
    symbolic: bool = False


@dataclass(frozen=True)
class SideInput:
    """An input the function reads beside its main value: the graph's name, the readable name, how it varies."""

    value: str
    name: str
    kind: str


def _type(dtype: str) -> str:
    return "bool" if dtype == "pred" else "float" if dtype.startswith(("f", "bf")) else "int"


def _join(one: str, other: str) -> str:
    if "full" in {one, other} or {one, other} == {"row", "column"}:
        return "full"
    return other if one == "scalar" else one


def _wrap(expr: Expr, level: int) -> str:
    return expr.text if expr.binds >= level else f"({expr.text})"


@dataclass
class Translator:
    """Writes the function that leads from ``roots`` (already computed values) and inputs to a graph value.

    Attributes:
        graph: the reference.
        frame: the axes of the result.
        roots: values that are at hand, by graph name, e.g. the matmul's product.
        size_name: text for the number of columns, where a literal equal to it means the size and not a constant.
        lines: statements, in order.
        sides: inputs used, in order of first use.
    """

    graph: Graph
    frame: Frame
    roots: dict[str, Expr]
    size_name: str | None = None
    lines: list[str] = field(default_factory=list[str])
    sides: list[SideInput] = field(default_factory=list[SideInput])
    reductions: int = 0
    operations: int = 0
    transcendentals: int = 0
    _done: dict[str, tuple[Labels, Expr]] = field(default_factory=dict[str, tuple[Labels, Expr]])
    _taken: dict[str, int] = field(default_factory=dict[str, int])

    def translate(self, value: str, labels: Labels) -> Expr:
        """Return the text for ``value``, adding the statements it needs.

        Raises:
            Unrecognised: part of the graph is outside elementwise work and whole-row reductions.
        """
        if value in self._done:
            known, expr = self._done[value]
            if known != labels and expr.kind != "scalar":
                raise Unrecognised(f"The value {value} is used along different axes.")
            return expr
        if value in self.roots:
            if self.frame.kind(labels) != "full":
                raise Unrecognised("The product enters the rest transposed or in part.")
            expr = self.roots[value]
        elif value in self.graph.nodes:
            expr = self._named(self.graph.nodes[value], labels)
        else:
            expr = self._input(value, labels)
        self._done[value] = (labels, expr)
        return expr

    def _input(self, value: str, labels: Labels) -> Expr:
        if value not in self.graph.inputs:
            raise Unrecognised(f"The reference captures the constant array {value}.")
        kind = self.frame.kind(labels)
        name = self.graph.name_of(value)
        self.sides.append(SideInput(value, name, kind))
        return Expr(name, _ATOM, kind, _type(self.graph.specs[value].dtype))

    def _named(self, node: Node, labels: Labels) -> Expr:
        expr = self._node(node, labels)
        constant = expr.value is not None or expr.binds == _ATOM
        once = self.graph.uses.get(node.output, 0) <= 1
        if constant or (once and len(expr.text) <= _INLINE):
            return expr
        base = _REDUCTIONS.get(node.primitive, ("", _NAMES.get(node.primitive, "value")))[1]
        count = self._taken[base] = self._taken.get(base, 0) + 1
        name = base if count == 1 else f"{base}_{count}"
        self.lines.append(f"{name} = {expr.text}")
        return Expr(name, _ATOM, expr.kind, expr.type)

    def _operands(self, node: Node, labels: Labels) -> list[Expr]:
        found: list[Expr] = []
        for index, operand in enumerate(node.inputs):
            if isinstance(operand, Literal):
                found.append(self._literal(operand))
                continue
            shape = self.graph.specs[operand].shape
            found.append(self.translate(operand, operand_labels(self.frame, node, labels, shape, index)))
        return found

    def _literal(self, literal: Literal) -> Expr:
        value = literal.value
        kind = "float" if literal.is_float else "bool" if isinstance(value, bool) else "int"
        if self.size_name and kind != "bool" and value == self.frame.columns and value > 1:
            return Expr(self.size_name, _ATOM, "scalar", kind, value, symbolic=True)
        text = format_number(value)
        return Expr(text, _UNARY if text.startswith("-") else _ATOM, "scalar", kind, value)

    def _node(self, node: Node, labels: Labels) -> Expr:
        name = node.primitive
        if name not in SUPPORTED:
            raise Unrecognised(f"The primitive {name} is outside the blueprints.")
        operands = self._operands(node, labels)
        folded = self._folded(node, operands)
        if folded is not None:
            return folded
        if name in _TRANSPARENT:
            return operands[0]
        if name == "convert_element_type":
            return self._convert(node, operands[0])
        if name in _REDUCTIONS:
            return self._reduction(node, operands[0])
        kind = "scalar"
        for operand in operands:
            kind = _join(kind, operand.kind)
        self.operations += 1
        self.transcendentals += name in {
            "exp",
            "exp2",
            "log",
            "log1p",
            "expm1",
            "tanh",
            "logistic",
            "erf",
            "erfc",
            "pow",
        }
        return self._operation(node, operands, kind)

    def _operation(self, node: Node, operands: list[Expr], kind: str) -> Expr:
        name, result = node.primitive, _type(node.spec.dtype)
        if name in _INFIX:
            sign, level = _INFIX[name]
            left, right = operands
            text = f"{_wrap(left, level)} {sign} {_wrap(right, level + 1)}"
            return Expr(text, level, kind, result)
        if name == "neg":
            return Expr(f"-{_wrap(operands[0], _UNARY)}", _UNARY, kind, result)
        if name == "not":
            return Expr(f"~{_wrap(operands[0], _UNARY)}", _UNARY, kind, result)
        if name in {"square", "integer_pow"}:
            power = 2 if name == "square" else int(node.param("y", 2))
            base = _wrap(operands[0], _ATOM)
            if power == 2 and operands[0].binds == _ATOM:
                return Expr(f"{base} * {base}", _PRODUCT, kind, result)
            if power == 2:
                return Expr(f"jnp.square({operands[0].text})", _CALL, kind, result)
            return Expr(f"{base} ** {power}", _POWER, kind, result)
        text = _FUNCTIONS[name].format(*(operand.text for operand in operands))
        return Expr(text, _CALL, kind, result)

    def _convert(self, node: Node, operand: Expr) -> Expr:
        result = _type(node.spec.dtype)
        if result == operand.type and result != "int":
            return operand
        target = {"float": "jnp.float32", "int": "jnp.int32", "bool": "jnp.bool_"}[result]
        if operand.kind == "scalar" and operand.value is not None:
            return Expr(operand.text, operand.binds, "scalar", result, operand.value, operand.symbolic)
        return Expr(f"{_wrap(operand, _ATOM)}.astype({target})", _CALL, operand.kind, result)

    def _reduction(self, node: Node, operand: Expr) -> Expr:
        if operand.kind not in {"full", "row"}:
            raise Unrecognised(f"{node.primitive} runs over a value that does not vary along the row.")
        self.reductions += 1
        function = _REDUCTIONS[node.primitive][0]
        kind = "column" if operand.kind == "full" else "scalar"
        return Expr(f"{function}({operand.text}, axis=-1, keepdims=True)", _CALL, kind, _type(node.spec.dtype))

    def _folded(self, node: Node, operands: list[Expr]) -> Expr | None:
        name = node.primitive
        values = [operand.value for operand in operands]
        if name == "select_n" and isinstance(values[0], bool):
            return operands[2] if values[0] else operands[1]
        if name == "max" and -math.inf in values and len(operands) == 2:
            return operands[1 if values[0] == -math.inf else 0]
        if name == "sub" and values[1] == 0 and operands[0].symbolic:
            return operands[0]
        known = [value for value in values if value is not None]
        if name not in _FOLDS or len(known) != len(operands) or (name == "div" and known[-1] == 0):
            return None
        result = _FOLDS[name](known[0], known[1])
        if any(operand.symbolic for operand in operands) and not isinstance(result, bool):
            return None
        text = format_number(result)
        return Expr(text, _UNARY if text.startswith("-") else _ATOM, "scalar", _type(node.spec.dtype), result)
