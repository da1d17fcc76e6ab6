"""The space of configurations: declared by the kernel's ``SPACE`` or given by the caller, checked and spelled out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import prod

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.kernels import ParamValue, params_key

MAX_CONFIGURATIONS = 4096
Config = dict[str, ParamValue]


def spell_out(
    space: Mapping[str, Sequence[ParamValue]], defaults: Mapping[str, ParamValue], fixed: Mapping[str, ParamValue]
) -> list[Config]:
    """Return every configuration, the kernel's own default first where it lies in the space.

    Args:
        space: values per parameter.
        defaults: the file's ``PARAMS``.
        fixed: parameters the caller pinned; they leave the space.

    Raises:
        MisuseError: the space is empty, unknown to the kernel, mixed in type, or too large.
    """
    free = {name: list(dict.fromkeys(values)) for name, values in space.items() if name not in fixed}
    if not free or any(not values for values in free.values()):
        raise MisuseError(
            "There is nothing to tune: the space is empty.",
            allowed='SPACE = {"BLOCK_M": [128, 256]} in the kernel, or the space argument.',
            action="Name at least one parameter with values.",
        )
    unknown = sorted(set(free) - set(defaults))
    if unknown:
        raise MisuseError(
            f"The kernel has no parameter {unknown[0]!r}.",
            allowed=(", ".join(sorted(defaults)) or "none: the file declares no PARAMS") + ".",
            action="Tune a parameter of PARAMS.",
        )
    for name, values in free.items():
        kinds = {type(value) for value in values}
        if len(kinds) > 1 and kinds != {int, float}:
            raise MisuseError(
                f"The values of {name!r} are of several types: {sorted(kind.__name__ for kind in kinds)}.",
                allowed="values of one type.",
                action="Split the parameter in two.",
            )
    total = prod(len(values) for values in free.values())
    if total > MAX_CONFIGURATIONS:
        raise MisuseError(
            f"The space has {total} configurations.",
            allowed=f"at most {MAX_CONFIGURATIONS}.",
            action="Pin a parameter through params, or list fewer values.",
        )
    configs = [dict(zip(free, values, strict=True)) for values in itertools.product(*free.values())]
    own = {name: defaults[name] for name in free}
    configs.sort(key=lambda config: params_key(config) != params_key(own))
    return configs
