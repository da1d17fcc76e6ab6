"""Takes equations whose course depends on data: whatever they may do to memory, they may have done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._src import core

from maxkernel_tools.worker.inspecting.evaluating import UNKNOWN
from maxkernel_tools.worker.inspecting.simulating.memory import Memory, Ref
from maxkernel_tools.worker.inspecting.walking import inner_jaxpr, open_jaxpr, sub_jaxprs

_WRITES = frozenset({"swap", "addupdate", "masked_swap"})
_SIGNALS = frozenset({"dma_start", "dma_wait", "semaphore_signal", "semaphore_wait"})


def absorb(eqn: Any, values: Sequence[Any], memory: Memory) -> None:
    """Mark every reference an equation may write as perhaps written, every semaphore it may touch as unknown.

    Args:
        eqn: the equation; its sub-jaxprs are walked.
        values: what its inputs are.
        memory: copies in flight; those an unknown wait may have awaited count as landed.
    """
    name = eqn.primitive.name
    refs = [value for value in values if isinstance(value, Ref)]
    if name in _WRITES:
        _perhaps_written(refs[:1])
    elif name in _SIGNALS:
        _perhaps_written(refs)
        _perhaps_landed([ref for ref in refs if ref.is_semaphore], memory)
    for sub, bound in _bindings(eqn, values):
        _absorb_jaxpr(sub, bound, memory)


def _absorb_jaxpr(jaxpr: Any, env: dict[Any, Any], memory: Memory) -> None:
    for eqn in jaxpr.eqns:
        values = [UNKNOWN if isinstance(atom, core.Literal) else env.get(atom, UNKNOWN) for atom in eqn.invars]
        absorb(eqn, values, memory)
        env.update(dict.fromkeys(eqn.outvars, UNKNOWN))


def _bindings(eqn: Any, values: Sequence[Any]) -> list[tuple[Any, dict[Any, Any]]]:
    name = eqn.primitive.name
    if name == "cond":
        return [
            (open_jaxpr(b), dict(zip(open_jaxpr(b).invars, values[1:], strict=False))) for b in eqn.params["branches"]
        ]
    if name == "while":
        tests, fixed = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        body = open_jaxpr(eqn.params["body_jaxpr"])
        return [
            (body, dict(zip(body.invars, [*values[tests : tests + fixed], *values[tests + fixed :]], strict=False)))
        ]
    if name == "run_scoped":
        inner = open_jaxpr(eqn.params["jaxpr"])
        return [(inner, dict(zip(inner.constvars, values, strict=False)))]
    inner = inner_jaxpr(eqn)
    subs = [inner] if inner is not None else sub_jaxprs(eqn)
    return [(sub, dict(zip(sub.invars, values, strict=False))) for sub in subs]


def _perhaps_written(refs: Sequence[Ref]) -> None:
    for ref in refs:
        ref.maybe = True


def _perhaps_landed(semaphores: Sequence[Ref], memory: Memory) -> None:
    for copy in [copy for copy in memory.copies if copy.semaphore in semaphores]:
        memory.copies.remove(copy)
        if copy.destination is not None:
            copy.destination.maybe = True
