"""Arrays and byte strings as blobs: dtype name, shape and raw little-endian bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, cast

import ml_dtypes
import numpy as np

from maxkernel_tools.records.arrays import DTYPES
from maxkernel_tools.wire.frames import Buffer, WireError

Array = np.ndarray[Any, Any]
_NAMES: Final = frozenset(name for name, _ in DTYPES.values()) | {"complex64", "complex128", "int2", "uint2"}
_MAX_RANK: Final = 32


def dtype_of(name: str) -> np.dtype[Any]:
    """Return the numpy dtype called ``name``, ml_dtypes' included.

    Raises:
        WireError: no array of that dtype crosses the wire.
    """
    if name not in _NAMES:
        raise WireError(f"Arrays of dtype {name!r:.60} are not sent.")
    return np.dtype(getattr(ml_dtypes, name, name))


class BlobWriter:
    """Collects blobs while a body is built."""

    def __init__(self) -> None:
        self.blobs: list[Buffer] = []

    def put(self, data: Buffer) -> int:
        """Add raw bytes and return their index."""
        self.blobs.append(data)
        return len(self.blobs) - 1

    def array(self, array: Array) -> dict[str, Any]:
        """Add an array and return what the body says of it.

        Raises:
            WireError: its dtype is not one that is sent (objects, strings).
        """
        name = array.dtype.name
        native = dtype_of(name)
        flat = np.ascontiguousarray(array, dtype=native).reshape(-1)
        raw = flat.view(np.uint8).data if flat.size else b""
        return {"dtype": name, "shape": list(array.shape), "blob": self.put(cast("Buffer", raw))}

    def arrays(self, arrays: Sequence[Array]) -> list[dict[str, Any]]:
        """Add several arrays."""
        return [self.array(array) for array in arrays]


class BlobReader:
    """Reads what a body refers to, checking every claim against the bytes that came."""

    def __init__(self, blobs: Sequence[Buffer]) -> None:
        self._blobs = blobs

    def get(self, index: object) -> bytes:
        """Return the blob at ``index`` as bytes.

        Raises:
            WireError: there is no such blob.
        """
        return bytes(self._at(index))

    def array(self, entry: object) -> Array:
        """Return the array ``entry`` describes; read-only.

        Raises:
            WireError: dtype, shape and byte count do not belong together.
        """
        if not isinstance(entry, dict):
            raise WireError("An array without description.")
        described = cast("dict[str, Any]", entry)
        name, shape = described.get("dtype"), described.get("shape")
        if not isinstance(name, str) or not isinstance(shape, list) or len(cast("list[Any]", shape)) > _MAX_RANK:
            raise WireError("An array lacks dtype or shape.")
        extents = cast("list[Any]", shape)
        if not all(type(extent) is int and extent >= 0 for extent in extents):
            raise WireError("An array with a shape that is none.")
        dtype = dtype_of(name)
        blob = self._at(described.get("blob"))
        if math.prod(extents) * dtype.itemsize != len(blob):
            raise WireError(f"{name}{extents} does not take {len(blob)} bytes.")
        if not len(blob):
            return np.empty(extents, dtype)
        array = np.frombuffer(blob, dtype).reshape(extents)
        array.flags.writeable = False
        return array

    def arrays(self, entries: object) -> tuple[Array, ...]:
        """Return several arrays."""
        if not isinstance(entries, list):
            raise WireError("Arrays without a list.")
        return tuple(self.array(entry) for entry in cast("list[object]", entries))

    def _at(self, index: object) -> Buffer:
        if type(index) is not int or not 0 <= index < len(self._blobs):
            raise WireError(f"No blob {index!r:.40}.")
        return self._blobs[index]
