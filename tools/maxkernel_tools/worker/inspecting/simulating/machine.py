"""Executes the equations of a kernel body on indices and references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jax._src import core

from maxkernel_tools.worker.inspecting.calls import dtype_name, item_bits, memory_space
from maxkernel_tools.worker.inspecting.evaluating import UNKNOWN, apply, constant_value, evaluate, literal_value
from maxkernel_tools.worker.inspecting.lines import Place
from maxkernel_tools.worker.inspecting.simulating.absorbing import absorb
from maxkernel_tools.worker.inspecting.simulating.copies import Copies
from maxkernel_tools.worker.inspecting.simulating.memory import Coords, Garbage, Memory, Ref
from maxkernel_tools.worker.inspecting.simulating.regions import clip, is_empty
from maxkernel_tools.worker.inspecting.simulating.views import Region, resolve
from maxkernel_tools.worker.inspecting.walking import (
    INLINED,
    inner_consts,
    inner_jaxpr,
    open_jaxpr,
    place_in,
    sub_jaxprs,
)

Env = dict[Any, Any]
_MAX_LOOP: Final = 4096


class BudgetSpentError(Exception):
    """The simulation has done as much as it may."""


@dataclass
class Step:
    """Where in the grid the body runs."""

    ids: Mapping[int, Any]
    grid: tuple[int, ...]
    coords: Coords


class Machine:
    """Interprets a body; what it sees goes into ``memory``.

    Args:
        kernel_file: the name the kernel was loaded under.
        place: the place of the ``pallas_call``.
        parallel: grid axes declared parallel, among which steps may run in any order.
        budget: equations that may be executed.
    """

    def __init__(self, kernel_file: str, place: Place | None, parallel: tuple[int, ...], budget: int) -> None:
        self.memory = Memory()
        self.kernel_file = kernel_file
        self.parallel = parallel
        self.left = budget
        self.step = Step({}, (), ())
        self._root = place
        self._chain: list[Any] = []
        self._nested: dict[int, bool] = {}
        self._copies = Copies(self)
        self._rules: dict[str, Callable[[Any, Env], None]] = {
            "get": self._get,
            "swap": self._swap,
            "addupdate": self._addupdate,
            "masked_load": self._masked_load,
            "masked_swap": self._masked_swap,
            "dma_start": self._copies.start,
            "dma_wait": self._copies.wait,
            "semaphore_signal": self._copies.signal,
            "semaphore_wait": self._copies.semaphore_wait,
            "cond": self._cond,
            "scan": self._scan,
            "while": self._while,
            "run_scoped": self._run_scoped,
            "program_id": self._program_id,
            "num_programs": self._num_programs,
        }

    def run(self, jaxpr: Any, env: Env) -> None:
        """Execute the equations of an open jaxpr, its variables bound in ``env``."""
        for eqn in jaxpr.eqns:
            self.left -= 1
            if self.left < 0:
                raise BudgetSpentError
            self._chain.append(eqn)
            name = eqn.primitive.name
            rule = self._rules.get(name)
            if rule is not None:
                rule(eqn, env)
            elif name in INLINED and inner_jaxpr(eqn) is not None:
                self._inline(eqn, env)
            elif self._holds_refs(eqn, env):
                self.absorb(eqn, env)
            else:
                self._plain(eqn, env)
            self._chain.pop()

    def read(self, env: Env, atom: Any) -> Any:
        """Value of an atom: a number, a reference, or UNKNOWN."""
        return literal_value(atom) if isinstance(atom, core.Literal) else env.get(atom, UNKNOWN)

    def place(self) -> Place | None:
        """The user's place of the equation being executed."""
        return place_in(self._chain, self._root, self.kernel_file)

    def region(self, ref: Ref, transforms: Any, env: Env) -> Region:
        """Resolve an access to a reference."""

        def scalar(value: Any) -> Any:
            if isinstance(value, int | np.integer):
                return int(value)
            return _number(self.read(env, value)) if isinstance(value, core.Literal | core.Var) else UNKNOWN

        return resolve(ref.shape, transforms, scalar)

    def reads(self, ref: Ref, region: Region) -> Any:
        """Note what a read of ``region`` gives away, and return what it reads: UNKNOWN data, or garbage."""
        self._bounds(ref, region, "out-of-bounds-read")
        copy = self.memory.landing_in(ref, region)
        if copy is not None:
            started = None if copy.place is None else copy.place.line
            self.memory.observe("read-before-wait", self.place(), ref, started_line=started)
            return UNKNOWN
        if not region.known or not region.exact or is_empty(clip(region.box, ref.shape)):
            return UNKNOWN
        missing = ref.uncovered(region.box)
        if missing:
            return Garbage(ref, self.place(), missing[0])
        if self.parallel and ref.kind in ("out", "scratch"):
            self._crossing(ref, region)
        return UNKNOWN

    def keeps(self, value: Any) -> None:
        """Note that a value is stored or decides something: garbage must not."""
        if isinstance(value, Garbage):
            self.memory.observe("uninitialized-read", value.place, value.ref, missing=_spans(value.missing))

    def writes(self, ref: Ref, region: Region) -> None:
        """Record a write and note what it disturbs."""
        self._bounds(ref, region, "out-of-bounds-write")
        landing = self.memory.landing_in(ref, region)
        leaving = self.memory.reading_from(ref, region)
        if landing is not None or leaving is not None:
            copy = landing or leaving
            started = None if copy is None or copy.place is None else copy.place.line
            kind = "write-before-wait" if landing is not None else "source-overwritten"
            self.memory.observe(kind, self.place(), ref, started_line=started)
        if ref.first_write is None:
            ref.first_write = self.place()
        ref.write(region, self.step.coords)

    def absorb(self, eqn: Any, env: Env) -> None:
        """Take an equation whose course is unknown: whatever it may do, it may have done."""
        absorb(eqn, [self.read(env, atom) for atom in eqn.invars], self.memory)
        env.update(dict.fromkeys(eqn.outvars, UNKNOWN))

    def _crossing(self, ref: Ref, region: Region) -> None:
        here = self.step.coords
        for there in ref.writers(region.box):
            axes = [axis for axis in self.parallel if axis < len(here) and here[axis] != there[axis]]
            if axes:
                self.memory.observe(
                    "parallel-carry", self.place(), ref, axis=axes[0], written_at=list(there), read_at=list(here)
                )
                return

    def _bounds(self, ref: Ref, region: Region, kind: str) -> None:
        if not region.known:
            return
        for axis, ((start, stop), extent) in enumerate(zip(region.box, ref.shape, strict=True)):
            if start < 0 or stop > extent:
                self.memory.observe(kind, self.place(), ref, axis=axis, start=start, stop=stop, extent=extent)
                return

    def _get(self, eqn: Any, env: Env) -> None:
        ref = self.read(env, eqn.invars[0])
        env[eqn.outvars[0]] = UNKNOWN
        if isinstance(ref, Ref):
            region = self.region(ref, eqn.params["tree"].unflatten(eqn.invars[1:]), env)
            env[eqn.outvars[0]] = self.reads(ref, region)

    def _swap(self, eqn: Any, env: Env) -> None:
        ref = self.read(env, eqn.invars[0])
        env[eqn.outvars[0]] = UNKNOWN
        if isinstance(ref, Ref):
            self.keeps(self.read(env, eqn.invars[1]))
            self.writes(ref, self.region(ref, eqn.params["tree"].unflatten(eqn.invars[2:]), env))

    def _addupdate(self, eqn: Any, env: Env) -> None:
        ref = self.read(env, eqn.invars[0])
        if isinstance(ref, Ref):
            region = self.region(ref, eqn.params["tree"].unflatten(eqn.invars[2:]), env)
            self.keeps(self.reads(ref, region))
            self.keeps(self.read(env, eqn.invars[1]))
            self.writes(ref, region)

    def _masked_load(self, eqn: Any, env: Env) -> None:
        ref, transforms, mask, _ = eqn.params["args_tree"].unflatten(eqn.invars)
        env[eqn.outvars[0]] = UNKNOWN
        held = self.read(env, ref)
        if isinstance(held, Ref) and mask is None:
            env[eqn.outvars[0]] = self.reads(held, self.region(held, transforms, env))

    def _masked_swap(self, eqn: Any, env: Env) -> None:
        ref, transforms, value, mask = eqn.params["args_tree"].unflatten(eqn.invars)
        env[eqn.outvars[0]] = UNKNOWN
        held = self.read(env, ref)
        if not isinstance(held, Ref):
            return
        if mask is None:
            self.keeps(self.read(env, value))
        region = self.region(held, transforms, env)
        self.writes(held, region if mask is None else Region(region.box, exact=False, known=False))

    def _program_id(self, eqn: Any, env: Env) -> None:
        env[eqn.outvars[0]] = self.step.ids.get(eqn.params["axis"], UNKNOWN)

    def _num_programs(self, eqn: Any, env: Env) -> None:
        axis = eqn.params["axis"]
        env[eqn.outvars[0]] = np.int32(self.step.grid[axis]) if axis < len(self.step.grid) else UNKNOWN

    def _holds_refs(self, eqn: Any, env: Env) -> bool:
        """Whether an equation without a rule runs a jaxpr on references."""
        known = self._nested.get(id(eqn))
        if known is None:
            known = self._nested[id(eqn)] = bool(sub_jaxprs(eqn))
        return known and any(isinstance(self.read(env, atom), Ref) for atom in eqn.invars)

    def _plain(self, eqn: Any, env: Env) -> None:
        values = [self.read(env, atom) for atom in eqn.invars]
        if any(isinstance(value, Ref) for value in values):
            env.update(dict.fromkeys(eqn.outvars, UNKNOWN))
            return
        spoilt = next((value for value in values if isinstance(value, Garbage)), None)
        if spoilt is not None:
            env.update(dict.fromkeys(eqn.outvars, _spoilt(eqn, values, spoilt)))
            return
        env.update(zip(eqn.outvars, apply(eqn, values), strict=True))

    def _inline(self, eqn: Any, env: Env) -> None:
        inner = inner_jaxpr(eqn)
        values = [self.read(env, atom) for atom in eqn.invars]
        if inner is None or len(inner.invars) != len(values):
            self.absorb(eqn, env)
            return
        results = self._call(inner, inner_consts(eqn), values)
        env.update(zip(eqn.outvars, results, strict=True))

    def _call(self, jaxpr: Any, consts: list[Any], values: list[Any]) -> list[Any]:
        local: Env = dict(zip(jaxpr.constvars, (constant_value(c) for c in consts), strict=False))
        local.update(zip(jaxpr.invars, values, strict=True))
        self.run(jaxpr, local)
        return [self.read(local, atom) for atom in jaxpr.outvars]

    def _cond(self, eqn: Any, env: Env) -> None:
        which, *values = [self.read(env, atom) for atom in eqn.invars]
        branches = eqn.params["branches"]
        self.keeps(which)
        if which is UNKNOWN or isinstance(which, Ref | Garbage):
            self.absorb(eqn, env)
            return
        branch = branches[min(max(int(which), 0), len(branches) - 1)]
        results = self._call(open_jaxpr(branch), list(getattr(branch, "consts", ())), values)
        env.update(zip(eqn.outvars, results, strict=True))

    def _scan(self, eqn: Any, env: Env) -> None:
        values = [self.read(env, atom) for atom in eqn.invars]
        consts, carried = scan_split(eqn)
        length = int(eqn.params["length"])
        if length > _MAX_LOOP:
            self.absorb(eqn, env)
            return
        body = eqn.params["jaxpr"]
        fixed, carry = values[:consts], values[consts : consts + carried]
        scanned = [UNKNOWN] * (len(values) - consts - carried)
        for _ in range(length):
            results = self._call(open_jaxpr(body), list(getattr(body, "consts", ())), [*fixed, *carry, *scanned])
            carry = results[:carried]
        env.update(zip(eqn.outvars, [*carry, *[UNKNOWN] * (len(eqn.outvars) - carried)], strict=True))

    def _while(self, eqn: Any, env: Env) -> None:
        values = [self.read(env, atom) for atom in eqn.invars]
        tests, fixed = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        test, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
        carry = values[tests + fixed :]
        for _ in range(_MAX_LOOP):
            going = evaluate(
                open_jaxpr(test),
                getattr(test, "consts", ()),
                [_number(value) for value in (*values[:tests], *carry)],
                self.step.ids,
            )[0]
            if going is UNKNOWN:
                break
            if not bool(going):
                env.update(zip(eqn.outvars, carry, strict=True))
                return
            inner = [*values[tests : tests + fixed], *carry]
            carry = self._call(open_jaxpr(body), list(getattr(body, "consts", ())), inner)
        self.absorb(eqn, env)

    def _run_scoped(self, eqn: Any, env: Env) -> None:
        inner = open_jaxpr(eqn.params["jaxpr"])
        local: Env = dict(zip(inner.constvars, [self.read(env, atom) for atom in eqn.invars], strict=True))
        names = list(getattr(inner.debug_info, "arg_names", None) or ())
        for position, variable in enumerate(inner.invars):
            given = names[position] if position < len(names) and names[position] else f"scoped{position}"
            local[variable] = new_ref(f"scoped{position}", str(given), "local", variable.aval)
        self.run(inner, local)
        env.update(zip(eqn.outvars, [self.read(local, atom) for atom in inner.outvars], strict=True))


def _number(value: Any) -> Any:
    return UNKNOWN if isinstance(value, Ref | Garbage) else value


def _spoilt(eqn: Any, values: list[Any], spoilt: Garbage) -> Any:
    """What comes of an equation one of whose inputs is garbage: a choice may leave it out."""
    if eqn.primitive.name != "select_n":
        return spoilt
    which, *cases = values
    if isinstance(which, Garbage):
        return which
    if which is not UNKNOWN and np.ndim(which) == 0:
        return cases[int(which)]
    return next(
        (case for case in cases if case is UNKNOWN), spoilt if all(isinstance(c, Garbage) for c in cases) else UNKNOWN
    )


def scan_split(eqn: Any) -> tuple[int, int]:
    """Numbers of constants and carried values of a scan, as either jax version writes them."""
    if "num_consts" in eqn.params:
        return int(eqn.params["num_consts"]), int(eqn.params["num_carry"])
    consts, carried, _ = eqn.params["ft_in"].unpack()
    return len(list(consts)), len(list(carried))


def new_ref(name: str, argument: str, kind: str, aval: Any) -> Ref:
    """Return a reference for a variable of a body."""
    space = memory_space(aval)
    return Ref(
        name=name,
        argument=argument,
        kind=kind,
        shape=tuple(int(extent) for extent in getattr(aval, "shape", ())),
        bits=item_bits(dtype_name(aval.dtype)),
        initialised=kind in ("in", "prefetch") or space in ("any", "hbm", "semaphore", "key"),
        is_semaphore=space == "semaphore",
    )


def _spans(box: Any) -> list[list[int]]:
    return [[int(start), int(stop)] for start, stop in box]
