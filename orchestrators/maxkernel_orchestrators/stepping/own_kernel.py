"""A user's own kernel as the first candidate: its parameters, and what its ``SPACE`` makes worth trying."""

from __future__ import annotations

import ast
from typing import Any, cast

from maxkernel_orchestrators.moves import OWN_MOVE
from maxkernel_orchestrators.roles import Implementation, Plan
from maxkernel_tools.records.kernels import ParamValue

_MOST_TRIALS = 4


def own_plan() -> Plan:
    """The plan of a kernel nobody here planned."""
    return Plan(move=OWN_MOVE, hypothesis="The kernel the run starts from, as its author wrote it.")


def own_implementation(source: str) -> Implementation:
    """Wrap the user's file; where its ``PARAMS`` and ``SPACE`` are plain literals, tuning may use them."""
    declared = _literals(source)
    params = _plain(declared.get("PARAMS"))
    trials: list[dict[str, ParamValue]] = []
    # One change at a time from the author's own values: the cross product is the autotuner's business.
    for name, values in declared_space(source).items():
        trials.extend({**params, name: value} for value in values if name in params and value != params[name])
    return Implementation(source=source, params=params, trials=tuple(trials[:_MOST_TRIALS]), note="The user's kernel.")


def declared_space(source: str) -> dict[str, tuple[ParamValue, ...]]:
    """Return the values a file's ``SPACE`` names per parameter; empty where it has none, or none in plain literals."""
    space = _literals(source).get("SPACE")
    if not isinstance(space, dict):
        return {}
    found: dict[str, tuple[ParamValue, ...]] = {}
    for name, values in cast("dict[Any, Any]", space).items():
        if isinstance(values, list | tuple):
            options = cast("list[Any]", values)
            found[str(name)] = tuple(one for one in options if isinstance(one, bool | int | float | str))
    return found


def _literals(source: str) -> dict[str, Any]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in {"PARAMS", "SPACE"}:
                try:
                    found[name] = ast.literal_eval(node.value)
                except ValueError:
                    continue
    return found


def _plain(value: object) -> dict[str, ParamValue]:
    if not isinstance(value, dict):
        return {}
    items = cast("dict[Any, Any]", value).items()
    return {str(name): entry for name, entry in items if isinstance(entry, bool | int | float | str)}
