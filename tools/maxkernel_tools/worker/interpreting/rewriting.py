"""Turn a traced kernel into one that interprets its kernels, without tracing the candidate again.

A kernel can tell under which mode it is traced. So it is traced once, and this module rewrites that trace's equations:
every ``pallas_call`` gets interpret parameters, everything else stays. The same trace is what is exported.
"""

from __future__ import annotations

from typing import Any

from jax.experimental.pallas import tpu as pltpu

from maxkernel_tools.runtime import InterpretOptions

KERNEL_PRIMITIVES = frozenset({"pallas_call", "core_map", "mpmd_map"})


def interpret_params(options: InterpretOptions) -> Any:
    """Return ``pltpu.InterpretParams`` for ``options``, on every supported jax."""
    known = pltpu.InterpretParams.__dataclass_fields__
    wanted: dict[str, Any] = {
        "detect_races": options.detect_races,
        "uninitialized_memory": options.uninitialized_memory,
        "out_of_bounds_reads": options.out_of_bounds_reads,
        "num_cores_or_threads": options.num_cores,
        "dma_execution_mode": options.dma_execution_mode,
        "buffer_bounds": options.buffer_bounds,
        "random_seed": options.random_seed,
        "on_race": "warn",  # newer jax raises by default; all races are wanted, not the first
    }
    return pltpu.InterpretParams(**{name: value for name, value in wanted.items() if name in known})


def interpreted(closed_jaxpr: Any, params: Any) -> Any:
    """Return ``closed_jaxpr`` with every kernel call inside it set to run under ``params``."""
    from jax._src.pallas.mosaic.interpret import params as interpret_module  # noqa: PLC0415

    return _value(closed_jaxpr, params, interpret_module.get_interpret_effects())


def _value(value: Any, params: Any, effects: set[Any]) -> Any:
    inner = getattr(value, "jaxpr", None)
    if inner is not None and inner is not value and hasattr(inner, "eqns") and hasattr(value, "consts"):
        rewritten = _jaxpr(inner, params, effects)
        return value if rewritten is inner else value.replace(jaxpr=rewritten)
    if hasattr(value, "eqns") and hasattr(value, "replace"):
        return _jaxpr(value, params, effects)
    if type(value) in (tuple, list):
        rewritten_items = [_value(item, params, effects) for item in value]
        same = all(new is old for new, old in zip(rewritten_items, value, strict=True))
        return value if same else type(value)(rewritten_items)
    return value


def _jaxpr(jaxpr: Any, params: Any, effects: set[Any]) -> Any:
    equations: list[Any] = []
    changed = False
    for equation in jaxpr.eqns:
        if equation.primitive.name in KERNEL_PRIMITIVES:
            new_params = {"interpret": params}
        else:
            pairs = ((name, value, _value(value, params, effects)) for name, value in equation.params.items())
            new_params = {name: new for name, old, new in pairs if new is not old}
        if new_params:
            changed = True
            equations.append(
                equation.replace(
                    params={**equation.params, **new_params}, effects=frozenset(equation.effects) | frozenset(effects)
                )
            )
        else:
            equations.append(equation)
    if not changed:
        return jaxpr
    return jaxpr.replace(eqns=equations, effects=frozenset(jaxpr.effects) | frozenset(effects))
