"""Whether jax, numpy and this package are still what they were before a kernel was loaded.

A kernel that replaces the interpreter's store, a primitive's rule or the lab's own functions could be computed by other
means than its program. The nursery remembers what everything callable was; a child compares after candidate code ran.
The comparison shares a process with the candidate: it convicts and never acquits.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any, Final, cast

_PACKAGES: Final = ("jax", "jaxlib", "numpy", "ml_dtypes", "maxkernel_tools")
_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, property, staticmethod, classmethod)
_MOST: Final = 10

# owner's dict, its name in words, and every callable in it as (key, value, code)
_Entry = tuple[dict[Any, Any], str, tuple[tuple[Any, Any, Any], ...]]
_remembered: list[_Entry] = []


def remember() -> None:
    """Remember every function, class and rule of the packages as they are now; called before any child is forked."""
    _remembered[:] = [entry for module in list(sys.modules.values()) for entry in _entries(module) if entry[2]]


def changed() -> tuple[str, ...]:
    """Return the names of what is not what it was: replaced, taken away, or with other code inside."""
    found: list[str] = []
    for owner, name, kept in _remembered:
        for key, value, code in kept:
            now = owner.get(key)
            if now is not value or getattr(now, "__code__", None) is not code:
                found.append(f"{name}.{key}" if isinstance(key, str) else f"{name}[{key!s:.60}]")
                if len(found) >= _MOST:
                    return tuple(found)
    return tuple(found)


def _entries(module: types.ModuleType) -> Iterator[_Entry]:
    name = getattr(module, "__name__", "")
    if not isinstance(name, str) or name.split(".", maxsplit=1)[0] not in _PACKAGES or name == __name__:
        return
    space = vars(module)
    yield space, name, tuple(_callables(space))
    for key, value in list(space.items()):
        label = f"{name}.{key}"
        if isinstance(value, type) and getattr(value, "__module__", None) == name:
            yield from _class(cast("type[object]", value), label)
        elif type(value) is dict and not key.startswith("__"):
            table = cast("dict[Any, Any]", value)
            yield table, label, tuple(_callables(table))
        elif type(value).__name__ == "Primitive":
            yield vars(value), label, tuple(_callables(vars(value)))


def _class(owner: type, label: str) -> Iterator[_Entry]:
    # a class's own dict is seen through a proxy that follows its changes
    attributes: Any = vars(owner)
    kept = tuple(
        (key, value, getattr(value, "__code__", None))
        for key, value in attributes.items()
        if isinstance(value, _FUNCTIONS)
    )
    yield attributes, label, kept


def _callables(space: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for key, value in list(space.items()):
        if callable(value) or isinstance(value, _FUNCTIONS):
            yield key, value, getattr(value, "__code__", None)
