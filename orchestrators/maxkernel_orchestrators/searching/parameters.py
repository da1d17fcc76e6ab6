"""Moves along a kernel's declared parameters: one step up or down in its ``SPACE``, else by doubling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from maxkernel_orchestrators.roles import Expectation, Implementation, Plan
from maxkernel_orchestrators.searching.proposals import Proposal
from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_orchestrators.stepping.own_kernel import declared_space
from maxkernel_tools.records.kernels import ParamValue

KIND: Final = "tiling"
_SMALLEST_BLOCK: Final = 8
"""Sublanes of a tile: a smaller block only wastes them."""
_LARGEST_BLOCK: Final = 8192


def parameter_moves(source: str, params: Mapping[str, ParamValue]) -> list[str]:
    """Return the steps that lead to other values, as ``tiling: NAME up`` and ``tiling: NAME down``."""
    space = declared_space(source)
    return [
        f"{KIND}: {name} {way}"
        for name in params
        for way in ("up", "down")
        if _next(params[name], way, space.get(name)) is not None
    ]


def is_parameter_move(move: str) -> bool:
    """Whether ``move`` is a step along a parameter."""
    return move.startswith(f"{KIND}: ")


def stepped(parent: Candidate, move: str) -> Proposal:
    """Carry out a step from ``parent``.

    Raises:
        ValueError: there is no such step.
    """
    name, _, way = move.removeprefix(f"{KIND}: ").rpartition(" ")
    value = _next(parent.params[name], way, declared_space(parent.source).get(name))
    if value is None:
        raise ValueError(f"{parent.name} has no step {move!r}")
    params = {**parent.params, name: value}
    plan = Plan(
        move=move,
        hypothesis=f"{name} from {parent.params[name]} to {value}.",
        expects=(Expectation(figure="time_us", direction="down"),),
        tiling=", ".join(f"{key}={entry}" for key, entry in params.items()),
    )
    return Proposal(plan=plan, implementation=Implementation(source=parent.source, params=params, note=plan.hypothesis))


def _next(value: ParamValue, way: str, declared: Sequence[ParamValue] | None) -> ParamValue | None:
    """Return the neighbour of ``value``; a kernel's own list wins where the value is in the midst of one."""
    if isinstance(value, bool) or not isinstance(value, int):
        return _listed(value, way, declared) if declared else None
    numbers = sorted({one for one in declared or () if isinstance(one, int) and not isinstance(one, bool)})
    within = [one for one in numbers if (one > value if way == "up" else one < value)]
    if within:
        return within[0] if way == "up" else within[-1]
    if value <= 0:
        return None
    doubled = value * 2 if way == "up" else value // 2
    aligned = doubled % _SMALLEST_BLOCK == 0 and _SMALLEST_BLOCK <= doubled <= _LARGEST_BLOCK
    return doubled if aligned else None


def _listed(value: ParamValue, way: str, declared: Sequence[ParamValue]) -> ParamValue | None:
    if value not in declared:
        return None
    place = list(declared).index(value) + (1 if way == "up" else -1)
    return declared[place] if 0 <= place < len(declared) else None
