"""The device pretence: abstract TPU devices under which kernels are traced and lowered on a machine without one.

Some lowering rules ask the default device its kind; inside :func:`pretend` they are told the one of the target. Literal
values do, so that a child that traces need not load libtpu.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import jax
from jax.sharding import AbstractMesh

from maxkernel_tools.records.targets import Target

# jax/_src/pallas/mosaic/tpu_info.py knows chips by these names.
DEVICE_KINDS: Final[dict[Target, str]] = {
    Target.V4: "TPU v4",
    Target.V5E: "TPU v5 lite",
    Target.V5P: "TPU v5",
    Target.V6E: "TPU v6 lite",
    Target.TPU7X: "TPU7x",
}


@contextmanager
def pretend(target: Target) -> Generator[None]:
    """Make ``target`` the device that tracing and lowering see.

    Old jax lines have no abstract devices; there, kernels whose lowering asks for the chip are refused by jax itself.
    """
    if not hasattr(jax.sharding, "AbstractDevice"):
        yield
        return
    with jax.sharding.use_abstract_mesh(AbstractMesh((), (), abstract_device=_device(target))):
        yield


def _device(target: Target) -> Any:
    kind: Any = jax.sharding.AbstractDevice
    wanted = {"device_kind": DEVICE_KINDS[target], "num_cores": 1, "platform": "tpu"}
    # Some lines of jax have abstract devices without a platform.
    known = getattr(kind, "__dataclass_fields__", wanted)
    return kind(**{name: value for name, value in wanted.items() if name in known})
