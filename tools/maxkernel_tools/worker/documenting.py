"""Read names, signatures and documentation out of the installed jax and write them down, one JSON object per line.

A process of its own: it imports jax, looks at public modules and ends. It loads no candidate.
"""

from __future__ import annotations

import argparse
import enum
import importlib
import inspect
import os
import pkgutil
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from maxkernel_tools.records.docs import ApiEntry
from maxkernel_tools.worker.walls import kernel

# Module and the name people import it by; a name found in several belongs to the first.
_MODULES: Final = (
    ("jax.experimental.pallas", "pl"),
    ("jax.experimental.pallas.tpu", "pltpu"),
    ("jax.lax", "lax"),
    ("jax.numpy", "jnp"),
    ("jax.nn", "jax.nn"),
    ("jax", "jax"),
    ("jax.random", "jax.random"),
    ("jax.scipy.special", "jax.scipy.special"),
    ("jax.export", "jax.export"),
    ("jax.sharding", "jax.sharding"),
    ("jax.tree", "jax.tree"),
    ("jax.dtypes", "jax.dtypes"),
    ("jax.profiler", "jax.profiler"),
    ("jax.experimental.topologies", "topologies"),
)
_LIBRARY: Final = "jax.experimental.pallas.ops.tpu"
_DOC_CHARS: Final = 8000
_VALUE_CHARS: Final = 200
_ADDRESS: Final = re.compile(r" (?:object )?at 0x[0-9a-f]+")
# Classes of these modules are listed with their methods and fields: kernels use them directly.
_IN_FULL: Final = frozenset({"pl", "pltpu"})


def entries() -> Iterator[ApiEntry]:
    """Yield every public name once per place it is documented under."""
    for module_name, alias in _MODULES:
        module = _imported(module_name)
        if module is not None:
            yield from _of_module(module, alias)
    library = _imported(_LIBRARY)
    if library is not None:
        for info in pkgutil.walk_packages(library.__path__, f"{_LIBRARY}."):
            module = _imported(info.name)
            if module is not None:
                yield from _own_functions(module, f"pallas_ops.{info.name.removeprefix(f'{_LIBRARY}.')}")


def _imported(name: str) -> ModuleType | None:
    """Return a module, or None where this version of jax has it not or cannot load it here."""
    try:
        return importlib.import_module(name)
    except (ImportError, AttributeError):
        return None


def _of_module(module: ModuleType, alias: str) -> Iterator[ApiEntry]:
    for name in sorted(dir(module)):
        value = getattr(module, name, None)
        # Primitives are how jax is built inside; the functions that bind them are what is used.
        if name.startswith("_") or isinstance(value, ModuleType) or type(value).__name__ == "Primitive":
            continue
        yield _entry(value, f"{alias}.{name}", f"{module.__name__}.{name}")
        if inspect.isclass(value) and alias in _IN_FULL and not issubclass(value, enum.Enum):
            yield from _members(value, f"{alias}.{name}", f"{module.__name__}.{name}")


def _own_functions(module: ModuleType, alias: str) -> Iterator[ApiEntry]:
    for name, value in sorted(vars(module).items()):
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__:
            yield _entry(value, f"{alias}.{name}", f"{module.__name__}.{name}")


def _members(owner: type, alias: str, qualified: str) -> Iterator[ApiEntry]:
    for name, value in sorted(vars(owner).items()):
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            entry = _entry(value, f"{alias}.{name}", f"{qualified}.{name}")
            if entry.doc:
                yield entry


def _entry(value: Any, name: str, qualified: str) -> ApiEntry:
    return ApiEntry(
        name=name,
        qualified=qualified,
        kind=_kind(value, name),
        signature=_signature(value),
        doc=_doc(value)[:_DOC_CHARS],
        defined_in=_place(value),
    )


def _kind(value: Any, name: str) -> str:
    if inspect.isclass(value):
        return "enum" if issubclass(value, enum.Enum) else "class"
    if callable(value):
        return "method" if name.count(".") > 1 and name.split(".")[1][:1].isupper() else "function"
    return "method" if isinstance(value, property) else "value"


def _signature(value: Any) -> str:
    if not callable(value) or (inspect.isclass(value) and issubclass(value, enum.Enum)):
        return ""
    try:
        return _ADDRESS.sub("", str(inspect.signature(value)))
    except (ValueError, TypeError):
        return ""


def _doc(value: Any) -> str:
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        own = inspect.cleandoc(vars(value).get("__doc__") or "")
        members = ", ".join(member.name for member in value)
        return f"{own}\n\nMembers: {members}.".strip()
    documented = inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, property)
    if not documented and not hasattr(value, "__wrapped__"):
        return f"{type(value).__name__}: {_ADDRESS.sub('', repr(value))[:_VALUE_CHARS]}"
    return inspect.getdoc(value) or ""


def _place(value: Any) -> str:
    """Return file and line inside the distribution: where it is installed is nobody's business."""
    target = inspect.unwrap(value) if callable(value) else value
    code = getattr(target, "__code__", None)
    module = sys.modules.get(getattr(target, "__module__", None) or "")
    file = getattr(code, "co_filename", None) or getattr(module, "__file__", None)
    if not file or "site-packages" not in file:
        return ""
    inside = Path(file).as_posix().rpartition("site-packages/")[2]
    return f"{inside}:{code.co_firstlineno}" if code is not None else inside


def main(arguments: list[str]) -> None:
    """Write the entries to ``--out`` as a child of ``--parent``; dies with it."""
    parser = argparse.ArgumentParser(prog="documenting")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args(arguments)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != options.parent:
        sys.exit("the lab is gone")
    warnings.simplefilter("ignore")  # looking at a deprecated name is no use of it
    with options.out.open("w", encoding="utf-8") as stream:
        for entry in entries():
            stream.write(entry.model_dump_json() + "\n")
