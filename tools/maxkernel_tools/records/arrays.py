"""Abstract arrays: a dtype and a shape, written like ``bf16[8192,8192]``."""

from __future__ import annotations

import re
from typing import Final

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record

# Short HLO spelling -> numpy/ml_dtypes name, and bits per element.
DTYPES: Final[dict[str, tuple[str, int]]] = {
    "pred": ("bool", 8),
    "s4": ("int4", 4),
    "s8": ("int8", 8),
    "s16": ("int16", 16),
    "s32": ("int32", 32),
    "s64": ("int64", 64),
    "u4": ("uint4", 4),
    "u8": ("uint8", 8),
    "u16": ("uint16", 16),
    "u32": ("uint32", 32),
    "u64": ("uint64", 64),
    "f8e4m3fn": ("float8_e4m3fn", 8),
    "f8e5m2": ("float8_e5m2", 8),
    "bf16": ("bfloat16", 16),
    "f16": ("float16", 16),
    "f32": ("float32", 32),
    "f64": ("float64", 64),
}
_SHORT = {name: short for short, (name, _) in DTYPES.items()}
_PATTERN = re.compile(r"^\s*([a-z][a-z0-9_]*)\s*\[\s*((?:\d+\s*(?:,\s*\d+\s*)*)?)\]\s*$")


class ArraySpec(Record):
    """Shape and dtype of one array.

    Attributes:
        dtype: short HLO spelling, a key of ``DTYPES`` (``bf16``, ``f32``, ``s32``).
        shape: extents, outermost first.
    """

    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> ArraySpec:
        """Read ``f32[64,512]``; long dtype names (``float32[64,512]``) are accepted too.

        Raises:
            MisuseError: the text has another form or names an unknown dtype.
        """
        match = _PATTERN.match(text)
        dtype = match.group(1) if match else ""
        short = dtype if dtype in DTYPES else _SHORT.get(dtype)
        if match is None or short is None:
            raise MisuseError(
                f"Cannot read the input {text!r}.",
                allowed="DTYPE[D0,D1,...] with DTYPE one of " + " ".join(DTYPES) + ".",
                action="Write it like bf16[8192,8192]; a scalar is f32[].",
            )
        dims = tuple(int(part) for part in match.group(2).split(",") if part.strip())
        return cls(dtype=short, shape=dims)

    @classmethod
    def of(cls, dtype: str, shape: tuple[int, ...]) -> ArraySpec:
        """Build a spec from a numpy dtype name (``bfloat16``) or a short one (``bf16``)."""
        short = dtype if dtype in DTYPES else _SHORT[dtype]
        return cls(dtype=short, shape=tuple(shape))

    @property
    def numpy_name(self) -> str:
        """The numpy or ml_dtypes name of the dtype, e.g. ``bfloat16``."""
        return DTYPES[self.dtype][0]

    @property
    def size(self) -> int:
        """Number of elements."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def nbytes(self) -> int:
        """Bytes of the dense, unpadded array."""
        return (self.size * DTYPES[self.dtype][1] + 7) // 8

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(str(extent) for extent in self.shape)}]"
