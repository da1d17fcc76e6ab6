"""A reference's equations as a graph one can walk backwards. Owns reading parameters; judges nothing."""

from __future__ import annotations

import ast
import keyword
import math
import re
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.tasks import ReferenceEquation, ReferenceGraph

_LITERAL = re.compile(r"^(-?(?:inf|nan)|[-+]?[0-9.][0-9.eE+-]*|True|False)(?::[a-z0-9]+(?:\[\])?)?$")
_TYPED_LITERAL = re.compile(r"^Typed\w+\(([^,()]+)[^()]*\)")  # how jax prints a typed Python scalar
_SPLIT_TYPE = re.compile(r"^(?P<value>[^:]+):(?P<dtype>[a-z0-9]+)")


class Unrecognised(Exception):  # noqa: N818 - a finding about the reference, not a fault
    """No blueprint fits this reference; the message says which part is outside them."""


@dataclass(frozen=True)
class Literal:
    """A scalar constant of the graph."""

    value: float | int | bool
    is_float: bool


@dataclass(frozen=True)
class Node:
    """One equation, its operands resolved and its parameters parsed on demand."""

    primitive: str
    inputs: tuple[str | Literal, ...]
    output: str
    spec: ArraySpec
    params: dict[str, str] = field(default_factory=dict[str, str])

    def param(self, name: str, default: Any = None) -> Any:
        """Return parameter ``name`` as a Python value, ``default`` where it is absent or not a plain literal."""
        text = self.params.get(name)
        if text is None:
            return default
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text


@dataclass(frozen=True)
class Graph:
    """Equations by the value they define; equal equations are one value.

    Attributes:
        inputs: value names in argument order.
        names: readable argument names, same order.
        specs: one spec per value, inputs included.
        nodes: the equation that defines each value, in order.
        outputs: value names.
        uses: how often each value is an operand (outputs count as one).
    """

    inputs: tuple[str, ...]
    names: tuple[str, ...]
    specs: dict[str, ArraySpec]
    nodes: dict[str, Node]
    outputs: tuple[str, ...]
    uses: dict[str, int]

    def name_of(self, value: str) -> str:
        """The readable name of an input value."""
        return self.names[self.inputs.index(value)]

    def of(self, primitive: str) -> list[Node]:
        """Every reachable equation with this primitive, in order."""
        return [node for node in self.nodes.values() if node.primitive == primitive]


def parse_literal(text: str) -> Literal | None:
    """Read ``2.0:f32``, ``0:i32[]``, ``True`` or ``-inf:bf16[]``; None where the text is a value's name."""
    text = _TYPED_LITERAL.sub(r"\1", text)
    if not _LITERAL.match(text):
        return None
    typed = _SPLIT_TYPE.match(text)
    word = typed["value"] if typed else text
    dtype = typed["dtype"] if typed else ""
    if word in {"True", "False"}:
        return Literal(word == "True", is_float=False)
    number = float(word)
    is_float = dtype.startswith(("f", "bf")) or (not dtype and not re.fullmatch(r"-?\d+", word))
    if is_float:
        return Literal(unrounded(number, dtype), is_float=True)
    return Literal(int(number), is_float=False)


_WELL_KNOWN = (
    math.sqrt(0.5),
    math.sqrt(2.0 / math.pi),
    math.sqrt(2.0),
    math.pi,
    math.e,
    math.log(2.0),
    1.0 / math.log(2.0),
    0.044715,  # GELU's cubic term
    1.0507009873554805,  # SELU's scale
    1.6732632423543772,  # SELU's alpha
)


def unrounded(value: float, dtype: str) -> float:
    """Return the constant somebody wrote where the graph holds it rounded to bfloat16 or float16.

    A reference traced at bf16 has 0.1 as 0.10009765625. The kernel computes in float32 and also serves float32 inputs,
    so it takes a well-known constant, or else the shortest decimal, that rounds to the same value.
    """
    kind = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}.get(dtype)
    if kind is None or not math.isfinite(value):
        return value

    def same(other: float) -> bool:
        return float(np.asarray(other, dtype=np.float64).astype(kind)) == value

    for constant in _WELL_KNOWN:
        if same(math.copysign(constant, value)):
            return math.copysign(constant, value)
    shortest = (float(f"{value:.{digits}g}") for digits in range(1, 7))
    return next((number for number in shortest if same(number)), value)


def _constant(text: str) -> Literal | None:
    """Read a captured scalar, written ``f32[] = 2.0``."""
    head, _, value = text.partition("[] = ")
    return parse_literal(f"{value}:{head}") if value else None


def format_number(value: float | int | bool) -> str:
    """Write a scalar the way a person would: ``1e-05`` for the float32 nearest to it."""
    if isinstance(value, bool | int):
        return str(value)
    if math.isinf(value):
        return "jnp.inf" if value > 0 else "-jnp.inf"
    if math.isnan(value):
        return "jnp.nan"
    short = float(str(np.float32(value)))
    return repr(short if np.float32(short) == np.float32(value) else value)


def read_graph(reference: ReferenceGraph, argument_names: tuple[str, ...] = ()) -> Graph:
    """Build the walkable graph: equal equations merged, unreachable ones dropped.

    Args:
        reference: the reference's jaxpr as data.
        argument_names: readable names of the arguments; the graph's own where they do not match in number.

    Raises:
        Unrecognised: an aval or an equation has a form this author cannot read.
    """
    specs = {name: _spec(aval) for name, aval in zip(reference.inputs, reference.input_avals, strict=True)}
    alias: dict[str, str] = {}
    seen: dict[tuple[Any, ...], str] = {}
    nodes: dict[str, Node] = {}
    scalars = {name: literal for name, text in reference.constants.items() if (literal := _constant(text))}
    for equation in reference.equations:
        node = _node(equation, alias, scalars)
        key = (node.primitive, node.inputs, tuple(sorted(node.params.items())), str(node.spec))
        if key in seen:
            alias[node.output] = seen[key]
            continue
        seen[key] = node.output
        nodes[node.output] = node
        specs[node.output] = node.spec
    outputs = tuple(alias.get(name, name) for name in reference.outputs)
    live = _reachable(outputs, nodes)
    uses: dict[str, int] = dict.fromkeys(outputs, 1)
    for name in live:
        for operand in nodes[name].inputs:
            if isinstance(operand, str):
                uses[operand] = uses.get(operand, 0) + 1
    kept = {name: node for name, node in nodes.items() if name in live}
    names = argument_names if len(argument_names) == len(reference.inputs) else tuple(reference.inputs)
    return Graph(tuple(reference.inputs), _safe_names(names), specs, kept, outputs, uses)


def _node(equation: ReferenceEquation, alias: dict[str, str], scalars: dict[str, Literal]) -> Node:
    if len(equation.outputs) != 1 or not equation.avals:
        raise Unrecognised(f"{equation.primitive} gives {len(equation.outputs)} values; blueprints take one each.")
    operands: list[str | Literal] = []
    for text in equation.inputs:
        name = alias.get(text, text)
        operands.append(scalars.get(name) or parse_literal(text) or name)
    return Node(equation.primitive, tuple(operands), equation.outputs[0], _spec(equation.avals[0]), equation.params)


def _spec(aval: str) -> ArraySpec:
    text = aval.replace("bool[", "pred[").replace("i32[", "s32[").replace("i8[", "s8[")
    try:
        return ArraySpec.parse(text)
    except MisuseError as error:
        raise Unrecognised(f"The value {aval!r} has a type outside the blueprints.") from error


def _reachable(outputs: tuple[str, ...], nodes: dict[str, Node]) -> set[str]:
    live: set[str] = set()
    stack = list(outputs)
    while stack:
        name = stack.pop()
        if name in live or name not in nodes:
            continue
        live.add(name)
        stack.extend(operand for operand in nodes[name].inputs if isinstance(operand, str))
    return live


_TAKEN = frozenset({"jax", "jnp", "lax", "pl", "pltpu", "functools", "math", "min", "max", "len", "range"}) | {
    *("kernel", "epilogue", "row_function", "workload", "product", "out", "result", "columns", "lhs", "rhs", "live"),
    *("i", "j", "s", "k", "m", "n", "step", "last", "acc", "total", "value", "largest", "smallest", "k_tail"),
    *("block_m", "block_n", "block_k", "block_rows", "powers", "inverse_root", "root", "bent", "gate"),
}


def _safe_names(names: tuple[str, ...]) -> tuple[str, ...]:
    chosen: list[str] = []
    for index, name in enumerate(names):
        clean = re.sub(r"\W", "_", name)
        if not clean or clean[0].isdigit() or keyword.iskeyword(clean) or clean.startswith("_"):
            clean = f"x{index}"
        if clean in _TAKEN or clean in chosen:
            clean = f"{clean}_in" if f"{clean}_in" not in chosen else f"{clean}_{index}"
        chosen.append(clean)
    return tuple(chosen)
