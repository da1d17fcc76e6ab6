"""Follows values through a kernel body without running it: unmasked edges that reach a sum, sums kept too narrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Final

from jax._src import core

from maxkernel_tools.worker.inspecting import flows
from maxkernel_tools.worker.inspecting.calls import Call, Operand, dtype_name
from maxkernel_tools.worker.inspecting.coverage import distinct_blocks, driving_axes, ragged_dims
from maxkernel_tools.worker.inspecting.flows import NOTHING, Flow, Names
from maxkernel_tools.worker.inspecting.simulating.machine import scan_split
from maxkernel_tools.worker.inspecting.walking import INLINED, inner_jaxpr, open_jaxpr, place_in

_ADDS: Final = frozenset({"add", "add_any", "sub"})
_COMPARES: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "is_finite"})
_PASSES: Final = frozenset(
    {"convert_element_type", "copy", "optimization_barrier", "stop_gradient", "reduce_precision"}
)
_REDUCES: Final = frozenset(
    {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin", "reduce_and", "reduce_or"}
)
_FLOATS: Final = frozenset({"bf16", "f16", "f8e4m3fn", "f8e5m2"})
NARROW_STEPS: Final = 4
"""Fewer additions than this lose no more than the one rounding of a narrow result."""


@dataclass(frozen=True)
class _Held:
    """A reference: which operand it is, and what along its dimensions is garbage."""

    name: str
    argument: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    dirty: tuple[Names, ...]
    inside: tuple[int | None, ...] = ()


@dataclass
class DataFlow:
    """One pass over a body; what it finds is in ``found``.

    Attributes:
        call: the ``pallas_call``.
        kernel_file: the name the kernel was loaded under.
    """

    call: Call
    kernel_file: str
    found: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _refs: dict[str, _Held] = field(default_factory=dict[str, _Held])
    _chain: list[Any] = field(default_factory=list[Any])
    _loops: list[int] = field(default_factory=list[int])
    _seen: set[tuple[str, int | None]] = field(default_factory=set[tuple[str, int | None]])

    def run(self) -> list[dict[str, Any]]:
        """Follow the body and return what was found."""
        env: dict[Any, Any] = {}
        for operand, variable in zip(self.call.operands, self.call.body.invars, strict=True):
            held = _held(operand, variable)
            self._refs[held.name] = held
            env[variable] = held
        self._jaxpr(self.call.body, env)
        return self.found

    def _jaxpr(self, jaxpr: Any, env: dict[Any, Any]) -> list[Any]:
        for eqn in jaxpr.eqns:
            self._chain.append(eqn)
            values = [self._read(env, atom) for atom in eqn.invars]
            env.update(zip(eqn.outvars, self._equation(eqn, values), strict=True))
            self._chain.pop()
        return [self._read(env, atom) for atom in jaxpr.outvars]

    def _read(self, env: dict[Any, Any], atom: Any) -> Any:
        value = None if isinstance(atom, core.Literal) else env.get(atom)
        if value is None:
            return flows.clean(len(getattr(atom.aval, "shape", ())))
        return self._refs.get(value.name, value) if isinstance(value, _Held) else value

    def _equation(self, eqn: Any, values: list[Any]) -> list[Any]:
        name = eqn.primitive.name
        inner = inner_jaxpr(eqn)
        if name in INLINED and inner is not None and len(inner.invars) == len(values):
            bound = dict(zip(inner.invars, values, strict=True))
            return self._jaxpr(inner, bound)
        if name == "cond":
            return self._cond(eqn, values)
        if name in ("scan", "while"):
            return self._loop(eqn, values)
        if name == "run_scoped":
            return self._scoped(eqn, values)
        rule = _MEMORY_RULES.get(name)
        if rule is not None:
            return rule(self, eqn, values)
        if any(isinstance(value, _Held) for value in values):
            return [flows.clean(len(v.aval.shape)) if hasattr(v.aval, "shape") else flows.clean(0) for v in eqn.outvars]
        return [self._value(eqn, values, len(getattr(v.aval, "shape", ()))) for v in eqn.outvars]

    def _value(self, eqn: Any, values: list[Flow], rank: int) -> Flow:
        name = eqn.primitive.name
        if name in _ADDS:
            base = flows.joined(values, rank)
            added = values[:1] if name == "sub" else values
            return replace(base, sums=frozenset().union(*(flow.sums for flow in added)), is_mask=False)
        if name == "mul":
            return flows.scaled(values, rank)
        if name in _PASSES:
            return values[0]
        if name in _COMPARES:
            base = flows.joined(values, rank)
            return Flow((NOTHING,) * rank, sources=base.sources, is_mask=True)
        if name == "select_n":
            return flows.selected(values[0], values[1:], rank)
        if name in _REDUCES:
            axes = tuple(eqn.params.get("axes", ()))
            self._reduced(eqn, values[0], axes)
            return flows.without(values[0], axes, rank)
        if name == "dot_general":
            result, both = flows.contracted(values[0], values[1], eqn.params["dimension_numbers"], rank)
            if both:
                self._find("partial-reduction", operands=sorted(both), operation="matmul")
            return result
        if name == "transpose":
            return flows.permuted(values[0], eqn.params["permutation"])
        if name == "broadcast_in_dim":
            return flows.broadcast(values[0], rank, eqn.params["broadcast_dimensions"])
        if name in ("reshape", "squeeze", "expand_dims"):
            return flows.reshaped(values[0], eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape)
        if name in ("iota", "program_id", "num_programs"):
            return flows.clean(rank)
        if name in ("slice", "dynamic_slice", "gather", "concatenate", "pad", "split"):
            return Flow((NOTHING,) * rank, sources=flows.joined(values, rank).sources)
        return flows.joined(values, rank)

    def _reduced(self, eqn: Any, flow: Flow, axes: tuple[int, ...]) -> None:
        names = frozenset[str]().union(*(flow.dirty[axis] for axis in axes if axis < len(flow.dirty)))
        if names:
            operation = eqn.primitive.name.removeprefix("reduce_")
            self._find("partial-reduction", operands=sorted(names), operation=operation)

    def _cond(self, eqn: Any, values: list[Any]) -> list[Any]:
        results: list[list[Any]] = []
        for branch in eqn.params["branches"]:
            inner = open_jaxpr(branch)
            results.append(self._jaxpr(inner, dict(zip(inner.invars, values[1:], strict=True))))
        return [_merged([branch[i] for branch in results]) for i in range(len(eqn.outvars))]

    def _loop(self, eqn: Any, values: list[Any]) -> list[Any]:
        if eqn.primitive.name == "scan":
            consts, carried = scan_split(eqn)
            body, trips = open_jaxpr(eqn.params["jaxpr"]), int(eqn.params["length"])
        else:
            skip = eqn.params["cond_nconsts"]
            consts, values = eqn.params["body_nconsts"], values[skip:]
            carried = len(values) - consts
            body, trips = open_jaxpr(eqn.params["body_jaxpr"]), NARROW_STEPS
        labels = [f"carry{position}" for position in range(carried)]
        carry = [
            replace(flow, sums=flow.sums | {label}) if isinstance(flow, Flow) else flow
            for flow, label in zip(values[consts : consts + carried], labels, strict=True)
        ]
        self._loops.append(trips)
        bound = dict(zip(body.invars, [*values[:consts], *carry, *values[consts + carried :]], strict=True))
        results = self._jaxpr(body, bound)
        self._loops.pop()
        for position, (label, result) in enumerate(zip(labels, results[:carried], strict=True)):
            variable = body.outvars[position]
            if isinstance(result, Flow) and label in result.sums and trips >= NARROW_STEPS:
                self._narrow_carry(body, variable, trips)
        return [_merged([result]) for result in results[: len(eqn.outvars)]]

    def _scoped(self, eqn: Any, values: list[Any]) -> list[Any]:
        inner = open_jaxpr(eqn.params["jaxpr"])
        env: dict[Any, Any] = dict(zip(inner.constvars, values, strict=True))
        for position, variable in enumerate(inner.invars):
            shape = tuple(int(extent) for extent in getattr(variable.aval, "shape", ()))
            held = _Held(
                f"scoped{position}",
                f"scoped{position}",
                "scratch",
                dtype_name(variable.aval.dtype),
                shape,
                (NOTHING,) * len(shape),
            )
            self._refs[held.name] = held
            env[variable] = held
        return self._jaxpr(inner, env)

    def load(self, eqn: Any, values: list[Any]) -> list[Any]:
        """A read of a reference."""
        held, rank = values[0], len(eqn.outvars[0].aval.shape)
        if not isinstance(held, _Held):
            return [flows.clean(rank)]
        dirty = _seen_dims(held, eqn.params["tree"].unflatten(eqn.invars[1:]), rank)
        return [Flow(dirty, sums=frozenset({held.name}), sources=frozenset({held.name}))]

    def store(self, eqn: Any, values: list[Any]) -> list[Any]:
        """A write of a reference, plain or adding."""
        held, value = values[0], values[1]
        results = [flows.clean(len(getattr(v.aval, "shape", ()))) for v in eqn.outvars]
        if not isinstance(held, _Held) or not isinstance(value, Flow):
            return results
        sums = value.sums | ({held.name} if eqn.primitive.name == "addupdate" else NOTHING)
        if held.name in sums:
            self._narrow_ref(held)
            self._accumulates_garbage(held, value)
        if held.kind == "scratch" and value.is_dirty and len(value.dirty) == len(held.dirty):
            merged = tuple(mine | theirs for mine, theirs in zip(held.dirty, value.dirty, strict=True))
            self._refs[held.name] = replace(held, dirty=merged)
        return results

    def _accumulates_garbage(self, held: _Held, value: Flow) -> None:
        out = next((operand for operand in self.call.operands if operand.name == held.name), None)
        follows = () if out is None or out.visits is None else out.visits.depends_on
        for names in value.dirty:
            for name in names:
                source = next((operand for operand in self.call.operands if operand.name == name), None)
                if source is None or name == held.name:
                    continue
                axes = {axis for dim in ragged_dims(source) for axis in driving_axes(source, dim)}
                if axes and not axes <= set(follows):
                    self._find("partial-reduction", operands=[name], operation="accumulation")
                    return

    def _narrow_ref(self, held: _Held) -> None:
        trips = prod(self._loops) if self._loops else 1
        if held.kind in ("scratch", "out"):
            trips *= self._visits_per_block(held)
        if held.dtype in _FLOATS and trips >= NARROW_STEPS:
            self._find("narrow-sum", argument=held.argument, operand=held.name, dtype=held.dtype, additions=trips)

    def _visits_per_block(self, held: _Held) -> int:
        """How many grid steps add to one block of a reference."""
        grid = self.call.static_grid
        if grid is None:
            return 1
        outs = [operand for operand in self.call.operands if operand.kind == "out"]
        own = [operand for operand in outs if operand.name == held.name] or outs
        counts = [count for operand in own if (count := distinct_blocks(operand, grid))]
        return prod(grid) // max(counts) if counts else 1

    def _narrow_carry(self, body: Any, variable: Any, trips: int) -> None:
        dtype = dtype_name(getattr(variable.aval, "dtype", ""))
        if dtype not in _FLOATS:
            return
        origin = next((eqn for eqn in body.eqns if any(variable is out for out in eqn.outvars)), None)
        if origin is not None:
            self._chain.append(origin)
        self._find("narrow-sum", argument="the loop's carry", operand="", dtype=dtype, additions=trips)
        if origin is not None:
            self._chain.pop()

    def _find(self, kind: str, **detail: Any) -> None:
        place = place_in(self._chain, self.call.place, self.kernel_file)
        key = (kind, None if place is None else place.line)
        if key not in self._seen:
            self._seen.add(key)
            self.found.append({"kind": kind, "line": None if place is None else place.line, **detail})


_MEMORY_RULES: dict[str, Callable[[DataFlow, Any, list[Any]], list[Any]]] = {
    "get": DataFlow.load,
    "swap": DataFlow.store,
    "addupdate": DataFlow.store,
}


def _held(operand: Operand, variable: Any) -> _Held:
    shape = tuple(int(extent) for extent in getattr(variable.aval, "shape", ()))
    dirty: list[Names] = [NOTHING] * len(shape)
    inside: list[int | None] = [None] * len(shape)
    ragged = ragged_dims(operand) if operand.kind == "in" and operand.space == "vmem" else {}
    kept = [axis for axis, dim in enumerate(operand.dims) if not dim.squeezed]
    if len(kept) == len(shape):
        for position, axis in enumerate(kept):
            if axis in ragged:
                dirty[position] = frozenset({operand.name})
                inside[position] = ragged[axis]
    return _Held(operand.name, operand.argument, operand.kind, operand.dtype, shape, tuple(dirty), tuple(inside))


def _seen_dims(held: _Held, transforms: Any, rank: int) -> tuple[Names, ...]:
    dirty = list(held.dirty)
    inside = list(held.inside) or [None] * len(dirty)
    for transform in transforms:
        indices = getattr(transform, "indices", None)
        if indices is None or len(indices) != len(dirty):
            return (NOTHING,) * rank
        left: list[tuple[Names, int | None]] = []
        for names, limit, index in zip(dirty, inside, indices, strict=True):
            if not (hasattr(index, "stride") and hasattr(index, "start")):
                continue
            start, size = index.start, index.size
            static = isinstance(start, int) and isinstance(size, int)
            certain = static and limit is not None and start + size <= limit
            left.append((NOTHING if certain else names, limit if static and start == 0 else None))
        dirty, inside = [names for names, _ in left], [limit for _, limit in left]
    return tuple(dirty) if len(dirty) == rank else (NOTHING,) * rank


def _merged(values: list[Any]) -> Any:
    kept = [value for value in values if isinstance(value, Flow)]
    if not kept:
        return values[0]
    rank = len(kept[0].dirty)
    return replace(flows.joined(kept, rank), sums=NOTHING)
