"""Groups: what a row of the diff is on one side. Owns how the calls of like instructions are put in one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxkernel_tools.traces.names import typed
from maxkernel_tools.traces.profile import Op


@dataclass(frozen=True)
class Group:
    """Instructions of one core that are compared as one, in device order."""

    ops: tuple[Op, ...]

    @classmethod
    def of(cls, ops: Iterable[Op]) -> Group:
        """Order the instructions by their first call."""
        return cls(tuple(sorted(ops, key=lambda op: (op.starts[0] if op.starts else 0, op.name))))

    @property
    def first(self) -> Op:
        """The instruction called first; it names the group."""
        return self.ops[0]

    @cached_property
    def calls(self) -> int:
        """Calls of all instructions."""
        return sum(op.calls for op in self.ops)

    @cached_property
    def ps(self) -> int:
        """Self time of all calls."""
        return sum(op.self_ps for op in self.ops)

    @cached_property
    def samples(self) -> tuple[int, ...]:
        """Self time of each call, in device order."""
        if len(self.ops) == 1:
            return self.ops[0].samples
        ranked = sorted(op.name for op in self.ops)
        names = {name: at for at, name in enumerate(ranked)}
        starts = np.concatenate([np.asarray(op.starts, np.int64) for op in self.ops])
        samples = np.concatenate([np.asarray(op.samples, np.int64) for op in self.ops])
        ranks = np.repeat([names[op.name] for op in self.ops], [len(op.starts) for op in self.ops])
        return tuple(samples[np.lexsort((samples, ranks, starts))].tolist())

    @cached_property
    def uniform(self) -> bool:
        """Whether all instructions have the same operand and result shapes: only then are two modes a fact."""
        return len({typed(op.hlo, op.shape)[0] for op in self.ops}) == 1

    @cached_property
    def signature(self) -> tuple[tuple[tuple[str, ...], int], ...]:
        """Shapes of the instructions with how many have them, order-free."""
        return tuple(sorted(Counter(typed(op.hlo, op.shape)[0] for op in self.ops).items()))


OpIndex = Mapping[tuple[str, str, str], Op]
"""Ops of one core by module, program and instruction name."""


def index_ops(ops: Iterable[Op]) -> dict[int, OpIndex]:
    """Return the ops of each core by name."""
    cores: dict[int, dict[tuple[str, str, str], Op]] = {}
    for op in ops:
        cores.setdefault(op.core, {})[op.module, op.program_id, op.name] = op
    return dict(cores)


def elsewhere(group: Group, index: OpIndex) -> Group | None:
    """Return the same instructions on another core of the same capture."""
    keys = [(op.module, op.program_id, op.name) for op in group.ops]
    found = [index[key] for key in keys if key in index]
    return Group.of(found) if found else None
