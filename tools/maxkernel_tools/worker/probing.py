"""Says what an interpreter's jax can do, by feature and not by version: one JSON object in a file, then the end."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import signal
from pathlib import Path
from typing import Any, Final

import jax

from maxkernel_tools.worker.walls import kernel

_PACKAGES: Final = ("jax", "jaxlib", "libtpu", "flatbuffers")


def facts() -> dict[str, object]:
    """Return versions and, in words, what is lacking."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        if importlib.util.find_spec(name) is not None:
            versions[name] = importlib.metadata.version(name)
    return {"versions": versions, "lacks": _lacks()}


def _lacks() -> list[str]:
    from jax.experimental.pallas import tpu  # noqa: PLC0415 - looked at, feature by feature

    interpret: Any = getattr(tpu, "InterpretParams", None)
    parameters: set[str] = set(getattr(interpret, "__dataclass_fields__", ()))
    abstract = hasattr(jax.sharding, "AbstractDevice")
    features = {
        "abstract devices (a kernel whose lowering asks for the chip is refused)": abstract,
        "TPU interpret mode": bool(parameters),
        "race detection": "detect_races" in parameters,
        "detection of out-of-bounds reads": "out_of_bounds_reads" in parameters,
    }
    return [words for words, present in features.items() if not present]


def main(arguments: list[str]) -> None:
    """Write the facts to the file the one argument names; dies with its parent."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    Path(arguments[0]).write_text(json.dumps(facts()))
