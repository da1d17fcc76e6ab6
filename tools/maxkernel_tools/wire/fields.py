"""Field-wise JSON of the runtime port's dataclasses, validated on the way in.

Arrays and byte strings are left to the caller: they travel as blobs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from maxkernel_tools.wire.frames import WireError


class PlainFields:
    """The fields of one dataclass that are plain data.

    Args:
        owner: the dataclass.
        apart: fields that travel as blobs or not at all.
    """

    def __init__(self, owner: type[Any], *apart: str) -> None:
        self._owner = owner
        self._names = tuple(field.name for field in dataclasses.fields(owner) if field.name not in apart)

    def prepare(self) -> None:
        """Build the validators now: later, behind walls, what building them imports cannot be read."""
        _adapters(self._owner, self._names)

    def dump(self, value: Any) -> dict[str, Any]:
        """Return the plain fields of ``value`` as JSON-ready data."""
        adapters = _adapters(self._owner, self._names)
        return {name: adapters[name].dump_python(getattr(value, name), mode="json") for name in self._names}

    def load(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return keyword arguments for the dataclass from what was received.

        Raises:
            WireError: a field is missing, unknown to its type, or of another type.
        """
        arguments: dict[str, Any] = {}
        for name, adapter in _adapters(self._owner, self._names).items():
            if name not in body:
                raise WireError(f"{self._owner.__name__} without {name}.")
            try:
                arguments[name] = adapter.validate_python(body[name])
            except (ValidationError, RecursionError) as error:
                raise WireError(f"{self._owner.__name__}.{name}: {error!s:.300}") from None
        return arguments


@cache
def _adapters(owner: type[Any], names: tuple[str, ...]) -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(owner)
    return {name: TypeAdapter(hints[name]) for name in names}
