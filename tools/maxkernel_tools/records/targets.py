"""TPU generations the compiler can target, and every name people give them."""

from __future__ import annotations

from enum import StrEnum

from maxkernel_tools.errors import MisuseError


class Target(StrEnum):
    """A TPU generation, by the name used in topologies and in this project."""

    V4 = "v4"
    V5E = "v5e"
    V5P = "v5p"
    V6E = "v6e"
    TPU7X = "tpu7x"


# What jax prints as ``device_kind`` (jax/_src/pallas/mosaic/tpu_info.py) and common spellings, in lower case.
_ALIASES = {
    "tpu v4": Target.V4,
    "tpu v5 lite": Target.V5E,
    "tpu v5e": Target.V5E,
    "v5 lite": Target.V5E,
    "v5litepod": Target.V5E,
    "tpu v5": Target.V5P,
    "tpu v5p": Target.V5P,
    "tpu v6 lite": Target.V6E,
    "tpu v6e": Target.V6E,
    "v6 lite": Target.V6E,
    "trillium": Target.V6E,
    "tpu7x": Target.TPU7X,
    "tpu 7x": Target.TPU7X,
    "tpu v7x": Target.TPU7X,
    "v7x": Target.TPU7X,
    "ironwood": Target.TPU7X,
}


def parse_target(name: str) -> Target:
    """Return the target called ``name``, which may be a device kind such as ``TPU v6 lite``.

    Raises:
        MisuseError: the name is unknown; the message lists the targets.
    """
    key = " ".join(name.strip().lower().split())
    if key in _ALIASES:
        return _ALIASES[key]
    try:
        return Target(key)
    except ValueError:
        raise MisuseError(
            f"Unknown target {name!r}.",
            allowed=", ".join(target.value for target in Target) + ", or a device kind as jax prints it.",
            action="Name one of these.",
        ) from None
