"""How a child presents itself to the kernel it loads and traces: as a machine with the target's TPU, in every child.

Honest kernels ask where they are (``interpret=jax.default_backend() != "tpu"``) and would ask to be emulated here. Told
the same in the child that exports and in the one that interprets, they also give the same trace in both; a kernel that
cheats on a TPU only is interpreted cheating. Devices stay real ones of the CPU client, so that meshes built of them
work; what they say of themselves changes.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import jax

from maxkernel_tools.records.targets import Target
from maxkernel_tools.worker.devices import DEVICE_KINDS

_PLATFORM: Final = "tpu"
_ABSENT: Final = object()


@contextmanager
def presented_as(target: Target) -> Generator[None]:
    """Let jax's public questions about the machine be answered as on ``target``, while candidate code runs.

    The compiler and the interpreter run outside of this and see the machine as it is.
    """
    answers: dict[str, Any] = {
        "platform": _PLATFORM,
        "device_kind": DEVICE_KINDS[target],
        "num_cores": 1,
        "coords": (0, 0, 0),
        "core_on_chip": 0,
    }
    device: Any = jax.Device
    replaced: list[tuple[Any, str, Any]] = [(jax, "default_backend", _default_backend)]
    replaced += [(device, name, _fixed(value)) for name, value in answers.items()]
    kept = [(owner, name, vars(owner).get(name, _ABSENT)) for owner, name, _ in replaced]
    try:
        for owner, name, new in replaced:
            setattr(owner, name, new)
        yield
    finally:
        for owner, name, old in kept:
            if old is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


def _default_backend() -> str:
    """Return the platform name of the default backend."""
    return _PLATFORM


def _fixed(value: object) -> property:
    return property(lambda _: value)
