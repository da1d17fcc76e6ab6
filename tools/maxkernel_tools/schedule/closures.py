"""Turns scalar instructions into small functions over a register file: a list of values, one slot per name.

Names are in static single assignment, so writing at once is the same as writing at the end of the bundle; only a phi
has to know which of its sources was written last, for which stamps are kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from maxkernel_tools.schedule.scalars import Value
from maxkernel_tools.schedule.steps import Operand, Step

Register = list[Value]
Action = Callable[[Register], None]
Read = Callable[[Register], Value]


class Registers:
    """Numbers for names and memory slots, and the values they hold during a run.

    Args:
        steps: every step of the schedule.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self._slots: dict[str, int] = {}
        self._phi_sources: set[str] = set()
        for step in steps:
            if step.kind == "phi":
                self._phi_sources.update(operand for operand in step.operands if isinstance(operand, str))
        self.stamps: dict[int, int] = {}
        self._clock = itertools.count(1)
        self.divided: list[Value] = []

    def fresh(self) -> Register:
        """Return an empty register file; the state of an earlier run is forgotten."""
        self.stamps.clear()
        self.divided.clear()
        return [None] * len(self._slots)

    def slot(self, name: str) -> int:
        """Return the slot of a name."""
        return self._slots.setdefault(name, len(self._slots))

    def reader(self, operand: Operand) -> Read:
        """Return a function that gives an operand's value."""
        if isinstance(operand, str):
            at = self.slot(operand)
            return lambda registers: registers[at]
        return lambda _: operand

    def guard(self, step: Step) -> Callable[[Register], bool | None] | None:
        """Return a function that says whether a step's predicate holds (None: not known), or None where it has none."""
        if step.predicate is None:
            return None
        at, negated = self.slot(step.predicate), step.negated

        def holds(registers: Register) -> bool | None:
            value = registers[at]
            return None if value is None else bool(value) != negated

        return holds

    def action(self, step: Step) -> Action | None:
        """Return a function that runs a scalar step, or None where it has no effect that matters."""
        if step.kind == "phi":
            return self._phi(step)
        if step.kind == "divide":
            return self._divide(step)
        dest = "memory " + step.memory if step.kind == "store" else step.dest
        if dest is None:
            return None
        compute = self._compute(step)
        plain = self._write(dest, compute)
        guard = self.guard(step)
        if guard is None:
            return plain
        return self._guarded(step, dest, compute, guard)

    def _write(self, dest: str, compute: Read) -> Action:
        at = self.slot(dest)
        if dest not in self._phi_sources:

            def write(registers: Register) -> None:
                registers[at] = compute(registers)

            return write
        stamps, clock = self.stamps, self._clock

        def stamped(registers: Register) -> None:
            registers[at] = compute(registers)
            stamps[at] = next(clock)

        return stamped

    def _guarded(self, step: Step, dest: str, compute: Read, guard: Callable[[Register], bool | None]) -> Action:
        write = self._write(dest, compute)
        if step.otherwise is None:

            def maybe(registers: Register) -> None:
                if guard(registers) is not False:
                    write(registers)

            return maybe
        other = self.reader(step.otherwise)

        def choose(registers: Register) -> Value:
            holds = guard(registers)
            return None if holds is None else compute(registers) if holds else other(registers)

        return self._write(dest, choose)

    def _compute(self, step: Step) -> Read:
        readers = [self.reader(operand) for operand in step.operands]
        kind, function = step.kind, step.function
        if kind == "binary" and function is not None and len(readers) > 1:
            return self._binary(step, function)
        if kind in {"move", "store"} and readers:
            return readers[0]
        if kind == "load":
            return self.reader("memory " + step.memory)
        if kind == "negate" and readers:
            return lambda registers: None if (value := readers[0](registers)) is None else 1 - value
        if kind == "select" and len(readers) > 2:
            condition, on_true, on_false = readers[:3]

            def select(registers: Register) -> Value:
                chosen = condition(registers)
                return None if chosen is None else (on_true if chosen else on_false)(registers)

            return select
        if kind == "address":

            def total(registers: Register) -> Value:
                values = [reader(registers) for reader in readers]
                return None if None in values else sum(value for value in values if value is not None)

            return total
        if kind == "pop":
            divided = self.divided
            return lambda _: divided.pop(0) if divided else None
        return lambda _: None

    def _binary(self, step: Step, function: Callable[[Value, Value], Value]) -> Read:
        left, right = step.operands[:2]
        if isinstance(left, str) and isinstance(right, str):
            first, second = self.slot(left), self.slot(right)
            return lambda registers: function(registers[first], registers[second])
        if isinstance(left, str):
            first = self.slot(left)
            return lambda registers: function(registers[first], right if isinstance(right, int) else None)
        if isinstance(right, str):
            second = self.slot(right)
            return lambda registers: function(left if isinstance(left, int) else None, registers[second])
        return lambda _: function(left if isinstance(left, int) else None, right if isinstance(right, int) else None)

    def _divide(self, step: Step) -> Action:
        left, right = (self.reader(operand) for operand in (*step.operands, None, None)[:2])
        guard, divided = self.guard(step), self.divided

        def divide(registers: Register) -> None:
            if guard is not None and guard(registers) is False:
                return
            above, below = left(registers), right(registers)
            # The queue gives back the remainder: its users index ring buffers.
            divided.append(None if above is None or not below else above % below)

        return divide

    def _phi(self, step: Step) -> Action | None:
        if step.dest is None:
            return None
        sources = [self.slot(operand) for operand in step.operands if isinstance(operand, str)]
        at, stamps = self.slot(step.dest), self.stamps

        def latest(registers: Register) -> None:
            source, stamp = -1, 0
            for candidate in sources:
                written = stamps.get(candidate, 0)
                if written > stamp:
                    source, stamp = candidate, written
            if source >= 0:
                registers[at] = registers[source]
                stamps[at] = stamp

        return latest
